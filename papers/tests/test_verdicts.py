"""Pages of papers: readable, current, and without settings that were typed."""

from __future__ import annotations

import json
import re

import pytest

from tacit.reproduction import SCALES, VERDICTS, list_papers
from tests.docs.pages import ROOT

MOST_BYTES = 10_000
MOST_PICTURES = 3
TYPED = re.compile(
    r"\b(?:\d[\d,]*|one|two|three|four|five|six|eight|ten|twenty) (?:local )?(?:epochs?|rounds?|seeds?)\b"
)
ALLOWED = re.compile("after 100 epochs|last\\s+ten rounds", re.IGNORECASE)
"""What a paper states about its own figure, and the name of a metric."""

papers = pytest.mark.parametrize("paper", list_papers(), ids=lambda paper: paper.name)


def read(paper, place: str = "papers/{}.md") -> str:
    return (ROOT / "docs" / place.format(paper.name)).read_text(encoding="utf-8")


@papers
def test_the_page_and_the_index_show_the_verdicts_of_the_kept_results(paper) -> None:
    kept = json.loads(read(paper, "results/{}.json"))["claims"]
    assert [one["claim"] for one in kept] == [claim.claim for claim in paper.claims], (
        "tacit reproduce --cached --out docs"
    )
    page = read(paper)
    for one in kept:
        assert f"| {one['claim']} | **{one['verdict']}** | {one['reason']} |" in page
    counts = [sum(one["verdict"] == verdict for one in kept) for verdict in VERDICTS]
    (row,) = re.findall(
        rf"^\| \[[^|]*\({paper.name}\.md\) \| (.*) \|$",
        (ROOT / "docs" / "papers" / "index.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [int(count) for count in row.split(" | ")] == counts


@papers
def test_the_page_is_readable(paper) -> None:
    page = read(paper)
    assert len(page.encode()) <= MOST_BYTES
    assert page.count("![") <= MOST_PICTURES
    assert f"(tables/{paper.name}.md)" in page


@papers
def test_an_open_claim_says_what_would_decide_it(paper) -> None:
    for one in json.loads(read(paper, "results/{}.json"))["claims"]:
        if one["verdict"] == "inconclusive":
            assert "seeds would" in one["reason"]
        assert one["reason"]


@papers
def test_no_note_of_a_table_types_the_settings_that_ran(paper) -> None:
    for scale in SCALES:
        for table in paper.tables(scale):
            found = TYPED.findall(ALLOWED.sub("", table.note))
            assert not found, f"{table.name}: {table.note}"


MECHANISMS = sorted((ROOT / "docs" / "concepts" / "mechanisms").glob("*.md"))
MOST_WORDS = 900
PARTS = ("promise", "proof or source", "cost", "when to use", "measured")


@pytest.mark.parametrize("page", MECHANISMS, ids=lambda page: page.stem)
def test_a_mechanism_has_one_short_page_with_its_promise_and_cost(page) -> None:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$|^\|.*$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= MOST_WORDS
    if page.stem not in ("index", "calibration"):
        assert [part for part in PARTS if f"| {part} |" not in text] == []
