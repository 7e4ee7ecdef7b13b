"""Rules of verdicts that every paper keeps: what a sentence names decides, printed numbers count once,
and stored verdicts follow from stored figures.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from tacit.reproduction import list_papers
from tacit_papers import former, page
from tacit_papers.checks import Above, Alike, AtLeast, AtMost, Check, Printed
from tacit_papers.claims import PaperClaim
from tacit_papers.fill import fill_cells
from tacit_papers.paper import Paper
from tacit_papers.published import At, CellOutcome, PaperCell, PaperTable, PaperTrial
from tests.docs.pages import ROOT

PAPERS = {paper.name: paper for paper in list_papers()}
ALL = pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)

_WORDS = {0.01: ("a point",), 0.05: ("five points",), 1.0: ("exactly", "all corrupted")}
"""Numbers that a sentence says in words."""


def list_limits(check: Check) -> list[float]:
    """The numbers to which a check compares an estimate; zero is the sign of a difference."""
    match check:
        case Above(by=limit) | Alike(apart=limit) | AtLeast(least=limit) | AtMost(most=limit):
            found = [limit]
        case Printed(numbers=numbers):
            found = [number for _, number in numbers]
        case _:
            found = []
    return [abs(one) for one in found if one]


def names(sentence: str, number: float) -> bool:
    """Whether a sentence has a number as a decimal, as a percentage or in words."""
    forms = {f"{number:g}", f"{100 * number:g} %"}
    forms |= {one.lstrip("0") for one in forms if one.startswith("0.")}
    written = any(re.search(rf"(?<![\w.]){re.escape(one)}(?!\d)", sentence) for one in forms)
    return written or any(words in sentence for words in _WORDS.get(number, ()))


def list_unexplained(claim: PaperClaim) -> list[float]:
    """Limits of a claim's checks that neither its sentence names nor its `limit` explains."""
    if claim.limit:
        return []
    limits = [limit for check in claim.checks for limit in list_limits(check)]
    return [limit for limit in limits if not names(claim.claim, limit)]


@ALL
def test_the_sentence_names_each_limit_or_the_claim_says_how_it_was_read(paper: Paper) -> None:
    found = {claim.claim: list_unexplained(claim) for claim in paper.claims}
    assert {claim: limits for claim, limits in found.items() if limits} == {}


A = At("1", "a", "c")


def test_a_size_that_the_sentence_does_not_name_is_found() -> None:
    size = (AtLeast(A, 0.05),)
    wrong = PaperClaim(claim="It is better.", where="", checks=size)
    assert list_unexplained(wrong) == [0.05]
    right = PaperClaim(claim="It is better by five points.", where="", checks=size)
    named = PaperClaim(claim="It is better by .05.", where="", checks=size)
    read = PaperClaim(claim="It is better.", where="", checks=size, limit="better: by .05")
    second = PaperClaim(claim="It is better.", where="", checks=(Above(A, A),), sizes=size)
    assert [list_unexplained(one) for one in (right, named, read, second)] == [[], [], [], []]


def list_repeated(tables: tuple[PaperTable, ...]) -> list[tuple[str, float | None]]:
    """Printed numbers that are compared twice with the same figure of the same runs."""
    compared = Counter(
        (cell.key, cell.paper)
        for table in tables
        for cell in table.cells
        if cell.paper is not None and not cell.again
    )
    return [one for one, count in compared.items() if count > 1]


@ALL
def test_no_printed_number_is_compared_twice_with_one_figure(paper: Paper) -> None:
    assert list_repeated(paper.tables("full")) == []


def test_a_number_that_two_tables_show_is_found() -> None:
    def build(again: bool) -> PaperTable:
        trial = PaperTrial(kind="k", settings={}, seeds=(1,))
        cell = PaperCell(row="r", column="c", paper=0.5, trial=trial, metric="m", again=again)
        return PaperTable(name=f"again {again}", title="t", cells=(cell,))

    assert len(list_repeated((build(False), build(False)))) == 1
    assert list_repeated((build(False), build(True))) == []


UNREADABLE = re.compile(r"-?\.000 ± \.000|(?:at least|at most|more) -?\.?0+ is claimed|-\.000\b")


@ALL
def test_no_stored_reason_is_a_row_of_zeros(paper: Paper) -> None:
    kept = former.results_path(paper, ROOT / "docs").read_text(encoding="utf-8")
    assert UNREADABLE.findall(kept) == []


def test_a_row_of_zeros_is_found() -> None:
    assert UNREADABLE.search("-.000 ± .000; at least .000 is claimed")
    assert not UNREADABLE.search("-.000085 ± .00014; at least -.006 is claimed")


def judge_stored(paper: Paper, docs: Path, cache: Path) -> list[dict[str, object]]:
    """The verdicts that follow from a page's stored figures; nothing is run."""
    before = former.read(paper, docs)

    def read(tables: tuple[PaperTable, ...]) -> list[CellOutcome]:
        return fill_cells(paper, tables, cache, lambda *_: None, jobs=0, former=before)

    return [asdict(one) for one in page.judge_claims(paper, page.collect_scales(paper, read))]


@ALL
def test_the_stored_verdicts_follow_from_the_stored_figures(paper: Paper, tmp_path: Path) -> None:
    stored = json.loads(former.results_path(paper, ROOT / "docs").read_text())["claims"]
    judged = judge_stored(paper, ROOT / "docs", tmp_path)
    for mine, kept in zip(judged, stored, strict=True):
        assert (mine["claim"], mine["verdict"], mine["reason"]) == (
            kept["claim"],
            kept["verdict"],
            kept["reason"],
        ), f"tacit reproduce {paper.name} --cached --out docs"
