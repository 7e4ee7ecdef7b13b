"""Who was missing stands in the terminal, on the page and in JSON, with the reason and what it cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.cli import tables
from tacit.report import summarise
from tacit.report.as_json import run_to_json
from tacit.report.pages.cards import list_facts
from tacit.runs.record import Entry, Refused, SiteMissing
from tests.report.made_up import record

POLICY = "its owner's policy does not allow it (limits.max_epsilon_per_run)"


def missing(site: str, round_no: int, exchange: str, cause: str, seconds: float = 0.0) -> Entry:
    reason = {"absent": "it is absent", "policy": POLICY}[cause]
    return SiteMissing(
        arm="run",
        round_no=round_no,
        exchange=exchange,
        site=site,
        cause=cause,
        reason=reason,
        seconds=seconds,
    )


ENTRIES = [
    missing("d", 0, "open", "policy"),
    missing("c", 2, "train", "absent", 5.0),
    missing("c", 3, "train", "absent"),
    missing("c", 5, "train", "absent", 5.2),
    missing("c", 5, "measure", "absent"),
    Refused(arm="run", round_no=7, exchange="votes", sender="server", reason="round lost: a, b …"),
]
SENTENCES = [
    "Site c was missing in rounds 2 to 3 and 5: it is absent (waited 10 s).",
    f"Site d took no part: {POLICY}.",
    "Round 7 did not change the model: lost, and charged.",
]


def test_missing_sites_are_named_once_with_their_rounds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = summarise([*record(), *ENTRIES])
    assert run.absences.sentences == SENTENCES
    tables.results(run)
    printed = capsys.readouterr().out
    assert all(sentence in printed for sentence in SENTENCES)
    assert dict(list_facts(run))["Missing sites"] == " ".join(SENTENCES)


def test_missing_sites_in_json() -> None:
    found = run_to_json(summarise([*record(), *ENTRIES]), Path("runs/newsgroups-1"))
    assert found["sites_missing"][0] == {
        "site": "c",
        "cause": "absent",
        "reason": "it is absent",
        "rounds": [2, 3, 5],
        "exchanges": ["train", "measure"],
        "seconds": 10.2,
    }
    assert found["lost_rounds"] == [7]


def test_a_run_in_which_nobody_is_missing_says_nothing() -> None:
    run = summarise(record())
    assert run.absences.sentences == []
    assert "sites_missing" not in run_to_json(run, Path("runs/newsgroups-1"))
    assert "Missing sites" not in dict(list_facts(run))
