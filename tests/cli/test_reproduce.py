"""tacit reproduce knows papers only as entry points: without any it says what to install."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import reproduction
from tacit.reproduction import (
    ComparedRow,
    ComparedTable,
    JudgedClaim,
    OnRun,
    Reproduction,
    ReproductionOptions,
    TableSummary,
)
from tests.cli.made_up import InstalledPaper, tacit

Capture = pytest.CaptureFixture[str]


class Stub:
    """A paper of somebody's own; keeps the options it is called with."""

    name, title = "stub", "A stub"
    options: ReproductionOptions | None = None

    def list_tables(self) -> list[TableSummary]:
        return [TableSummary("1", "one number", ("smoke", "full"))]

    def reproduce(self, options: ReproductionOptions, on_run: OnRun) -> Reproduction:
        self.options = options
        on_run(0, 1, "the only run")
        on_run(1, 1, None)
        row = ComparedRow("r", "c", ".800", ".700", "3", "below")
        claim = JudgedClaim(
            claim="It learns.", where="p. 1", verdict="does not hold here", reason="no"
        )
        return Reproduction(
            tables=[ComparedTable(name="1", title="one number", note="A note.", rows=[row])],
            claims=[claim],
            cells=[{"ours": 0.7}],
            drawn=[],
        )


def install(monkeypatch: pytest.MonkeyPatch, *papers: Stub) -> None:
    entries = [InstalledPaper(paper) for paper in papers]
    monkeypatch.setattr(reproduction, "entry_points", lambda group: entries)


@pytest.mark.parametrize("word", ["list", "rr-ldp"])
def test_without_papers_it_says_what_to_install(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    install(monkeypatch)
    said = tacit(capsys, "reproduce", word)
    assert (said.code, said.out) == (2, "")
    assert said.err == "no papers are installed; pip install tacit-papers\n"


def test_a_paper_of_somebody_s_own_is_listed_and_run(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paper = Stub()
    install(monkeypatch, paper)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    assert "stub: A stub" in tacit(capsys, "reproduce", "list").out
    said = tacit(
        capsys, "reproduce", "stub", "--table", "1", "--out", "docs", "--figures", "--cached"
    )
    assert said.code == 1
    assert "1 of 1 claims do not hold here" in said.err
    assert "0/1 runs: the only run" in said.err
    for words in ("Table 1. one number", "A note.", "It learns."):
        assert words in said.out
    assert paper.options == ReproductionOptions(
        scale="quick", cache=tmp_path / "reproduce", jobs=0, table="1", page=Path("docs"), figures=Path("docs/img")
    )  # fmt: skip
    found = json.loads(tacit(capsys, "reproduce", "stub", "--json", "--quiet").out)
    assert found["claims"] == [
        {
            "claim": "It learns.",
            "where": "p. 1",
            "verdict": "does not hold here",
            "reason": "no",
            "figures": [],
            "size": [],
            "seeds": None,
        }
    ]
    assert found["cells"] == [{"ours": 0.7}]


def test_an_unknown_paper_is_refused_with_the_names_there_are(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Stub())
    said = tacit(capsys, "reproduce", "stubb")
    assert said.code == 2
    assert "stub, list" in said.err
    assert "Did you mean 'stub'?" in said.err
