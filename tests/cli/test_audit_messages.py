"""tacit audit reconstruct on plans without a word table; tests/audit says whether the attack is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.plan import to_toml
from tests.cli.made_up import tacit
from tests.simulation.small import small_plan, write_csv

Capture = pytest.CaptureFixture[str]
QUICK = ("audit", "reconstruct", "plan.toml", "--clients", "3", "--seeds", "1,2")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    job = small_plan(write_csv(tmp_path / "reviews.csv"))
    (tmp_path / "plan.toml").write_text(to_toml(job))
    return tmp_path


def test_tables_sentences_and_the_page(capsys: Capture, here: Path) -> None:
    said = tacit(capsys, *QUICK, "--page", "audit.html")
    assert said.code == 0, said.err
    for text in (
        "seen by",
        "Words: which of",
        "Labels: which of two clients",
        "- Control, words:",
        "page: audit.html",
    ):
        assert text in said.out
    assert "attacking: messages of 3 clients, seed 2" in said.err
    page = (here / "audit.html").read_text()
    assert "Side by side" not in page
    assert "<script" not in page


def test_what_clients_hold_is_shown_only_with_rows(capsys: Capture) -> None:
    silent = tacit(capsys, *QUICK, "--json", "--quiet")
    assert (silent.code, silent.err) == (0, "")
    assert json.loads(silent.out)["examples"] == []
    assert json.loads(tacit(capsys, *QUICK, "--json", "--quiet", "--rows").out)["examples"]
    assert "the client's own words there" in tacit(capsys, *QUICK, "--quiet", "--rows").out
    assert "the client's own words there" not in tacit(capsys, *QUICK, "--quiet").out


def test_findings_enter_a_finished_run_without_any_text(capsys: Capture, here: Path) -> None:
    from tacit.runs import record

    assert (
        tacit(
            capsys,
            "run",
            "plan.toml",
            "-o",
            "server.rounds=1",
            "-o",
            "server.evaluate_every=1",
            "-q",
        ).code
        == 0
    )
    said = tacit(capsys, *QUICK, "--rows", "--quiet", "--into", "small-1")
    assert said.code == 0, said.err
    folder = here / "runs" / "small-1"
    (found,) = record.select_entries(list(record.read(folder / "record.jsonl")), record.Audited)
    assert found.name == "messages"
    assert "examples" not in found.findings
    assert "Audit: messages" in (folder / "report.html").read_text()


def test_options_of_the_other_attack_are_refused(capsys: Capture) -> None:
    said = tacit(capsys, *QUICK, "--texts", "3")
    assert (said.code, "--texts cannot be used with features.text = 'binary'" in said.err) == (
        2,
        True,
    )
    said = tacit(capsys, "audit", "reconstruct", "plan.toml", "--seeds", "x")
    assert (said.code, "--seeds must be numbers of at least 0 separated by commas" in said.err) == (
        2,
        True,
    )
