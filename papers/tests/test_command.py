"""tacit reproduce: what it prints, keeps and writes, and its exit codes. The paper is made up and trains nothing."""

from __future__ import annotations

import json
import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tacit import reproduction
from tacit.reproduction import Scale
from tacit_papers.checks import AtLeast
from tacit_papers.claims import PaperClaim
from tacit_papers.paper import Paper
from tacit_papers.published import At, Figures, PaperCell, PaperTable, PaperTrial
from tests.cli.made_up import InstalledPaper, tacit

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Put a paper with one table that holds and one that does not into the index; return the seeds it is asked for."""
    seeds: list[int] = []

    def measure(best: float, seed: int) -> Figures:
        seeds.append(seed)
        return {"last": {"auc": best - 0.01 * seed}}

    def tables(scale: Scale) -> tuple[PaperTable, ...]:
        trial = PaperTrial(
            kind="measure",
            settings={"best": {"smoke": 0.6, "quick": 0.8, "full": 0.9}[scale]},
            seeds=(1, 2, 3),
        )
        good = PaperCell(row="r", column="c", paper=0.8, trial=trial, metric="auc")
        bad, other = (
            PaperCell(row=row, column="c", paper=0.99, trial=trial, metric="auc")
            for row in ("r", "worse r")
        )
        both = (
            PaperTable(name="1", title="it holds", cells=(good,)),
            PaperTable(name="2", title="it does not", cells=(bad, other)),
        )
        return (
            both
            if scale != "full"
            else (*both, PaperTable(name="3-large", title="it takes long", cells=(good,)))
        )

    paper = Paper(
        name="made-up", title="Made up", first_words="Nothing is private.", tables=tables, runners={"measure": measure},
        claims=(
            PaperClaim(claim="It learns.", where="Table 1", checks=(AtLeast(At("1", "r", "c"), 0.7),)),
            PaperClaim(claim="It is perfect.", where="Table 2", checks=(AtLeast(At("2", "r", "c"), 0.99),)),
        ),
        scales={"smoke": "tiny.", "quick": "small.", "full": "whole."},
    )  # fmt: skip
    entries = [*entry_points(group=reproduction.GROUP), InstalledPaper(paper)]
    monkeypatch.setattr(reproduction, "entry_points", lambda group: entries)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    return seeds


def test_claims_that_hold_end_with_0_and_one_that_does_not_with_1(capsys: Capture) -> None:
    good = tacit(capsys, "reproduce", "made-up", "--table", "1")
    assert (
        good.code,
        ".780 ± .025" in good.out,
        "It learns." in good.out,
        "perfect" in good.out,
    ) == (0, True, True, False)
    assert "0/3 runs" in good.err
    bad = tacit(capsys, "reproduce", "made-up")
    assert bad.code == 1
    assert "1 of 2 claims do not hold here" in bad.err


def test_rows_can_be_chosen_by_a_part_of_their_name(capsys: Capture) -> None:
    assert "It learns." in tacit(capsys, "reproduce", "made-up", "--table", "1", "--row", "R").out
    none = tacit(capsys, "reproduce", "made-up", "--row", "other")
    assert (none.code, "--row other: no row has this text; rows are r, worse r" in none.err) == (
        2,
        True,
    )
    assert "worse r" in tacit(capsys, "reproduce", "made-up", "--row", "worse").out
    assert "worse r" not in tacit(capsys, "reproduce", "made-up", "--row", "r").out, (
        "one row has this very name"
    )


def test_claims_that_a_scale_leaves_open_are_counted_and_the_way_on_is_said(
    capsys: Capture,
) -> None:
    said = tacit(capsys, "reproduce", "made-up", "--cached").out
    assert "Quick scale does not decide 2 of 2 claims." in said
    assert "docs/papers/made-up.md" in said
    assert "left open" not in tacit(capsys, "reproduce", "made-up", "--quiet").out


def test_smoke_gives_no_verdict_and_says_how_long_it_took(capsys: Capture) -> None:
    said = tacit(capsys, "reproduce", "made-up", "--scale", "smoke", "--quiet")
    assert said.code == 0
    assert "verdict" not in said.out
    assert re.search(r"Smoke scale: 3 of 3 cells ran in \d+ s", said.out)


def test_each_seed_is_run_once_and_kept(capsys: Capture, asked: list[int]) -> None:
    empty = tacit(capsys, "reproduce", "made-up", "--cached")
    assert (empty.code, asked) == (0, [])
    assert "not run: r, c (table 1)" in empty.out
    tacit(capsys, "reproduce", "made-up", "--quiet", "--jobs", "1")
    tacit(capsys, "reproduce", "made-up", "--table", "1", "--quiet", "--jobs", "1")
    assert asked == [1, 2, 3]
    assert tacit(capsys, "reproduce", "made-up", "--table", "1", "--cached", "--quiet").err == ""


def test_json_is_one_object_and_nothing_else(capsys: Capture) -> None:
    said = tacit(
        capsys, "reproduce", "made-up", "--table", "1", "--scale", "full", "--json", "--quiet"
    )
    found = json.loads(said.out)
    assert (found["paper"], found["scale"]) == ("made-up", "full")
    assert found["cells"][0]["ours"] == pytest.approx(0.88)
    keys = {"claim", "where", "verdict", "reason", "figures", "size", "seeds"}
    assert [set(claim) for claim in found["claims"]] == [keys]
    assert found["claims"][0]["verdict"] == "holds"
    assert said.err == ""


def test_the_page_shows_the_largest_scale_that_was_run(capsys: Capture, tmp_path: Path) -> None:
    tacit(capsys, "reproduce", "made-up", "--scale", "full", "--quiet")
    tacit(
        capsys,
        "reproduce",
        "made-up",
        "--scale",
        "quick",
        "--quiet",
        "--out",
        str(tmp_path / "docs"),
    )
    text = (tmp_path / "docs" / "papers" / "tables" / "made-up.md").read_text()
    assert "- full: whole." in text
    assert "- quick" not in text
    assert {
        cell["scale"]
        for cell in json.loads((tmp_path / "docs" / "results" / "made-up.json").read_text())[
            "cells"
        ]
    } == {"full"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("made-upp",), "Did you mean"),
        (("made-up", "--scale", "huge"), "must be one of smoke, quick, full"),
        (("made-up", "--table", "9"), "made-up has tables 1, 2, 3-large"),
        (
            ("made-up", "--table", "3-large", "--scale", "smoke"),
            "no such table at --scale smoke; it exists at --scale full",
        ),
    ],
)
def test_what_does_not_exist_is_refused(
    capsys: Capture, words: tuple[str, ...], message: str
) -> None:
    said = tacit(capsys, "reproduce", *words)
    assert said.code == 2
    assert message.lower() in said.err.lower()


def test_papers_and_their_tables_are_listed_with_the_scales_that_have_them(capsys: Capture) -> None:
    said = tacit(capsys, "reproduce", "list")
    assert said.code == 0
    assert "made-up: Made up" in said.out
    found = json.loads(tacit(capsys, "reproduce", "list", "--json").out)["papers"]
    (listed,) = [paper for paper in found if paper["paper"] == "made-up"]
    scales = {one["table"]: one["scales"] for one in listed["tables"]}
    assert scales == {
        "1": ["smoke", "quick", "full"],
        "2": ["smoke", "quick", "full"],
        "3-large": ["full"],
    }
    assert [paper["paper"] for paper in found] == sorted(paper["paper"] for paper in found)
    real = next(paper for paper in found if paper["paper"] == "rr-ldp")
    assert "8-word2vec" in {one["table"] for one in real["tables"]}
