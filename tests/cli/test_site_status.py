"""tacit site status: the runs of a site, and one run in full."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.deployment.site.contacts import ContactBook
from tacit.deployment.site.stored_runs import ENDED
from tests.cli.made_up import tacit
from tests.cli.test_site_erase import site  # noqa: F401 (a fixture)
from tests.deployment.test_contacts import subject

Capture = pytest.CaptureFixture[str]


def test_all_runs_and_one_run(capsys: Capture, site: Path) -> None:  # noqa: F811
    ContactBook(site).note(subject("third-1"), "policy", "allow.models: none\x1b[2J")
    said = tacit(capsys, "site", "status", str(site))
    assert said.code == 0, said.err
    assert "first-1" in said.out
    assert "third-1" in said.out
    found = json.loads(tacit(capsys, "site", "status", str(site), "--json").out)
    assert {one["run"]: len(one["exchanges"]) for one in found["runs"]} == {
        "third-1": 0,
        "first-1": 2,
        "second-1": 1,
    }
    one = tacit(capsys, "site", "status", str(site), "third-1")
    assert "allow.models: none\\x1b[2J" in " ".join(one.out.split())
    first = json.loads(tacit(capsys, "site", "status", str(site), "first-1", "--json").out)
    assert (first["clients"], first["responses"]) == (5, 0)
    assert first["epsilon"] > 0
    assert [asked["bytes"] for asked in first["exchanges"]] == [None, None]


def test_an_unknown_run(capsys: Capture, site: Path) -> None:  # noqa: F811
    said = tacit(capsys, "site", "status", str(site), "../policy.toml")
    assert said.code != 0
    assert "lists the runs" in said.err


def test_a_reason_is_one_paragraph(capsys: Capture, site: Path) -> None:  # noqa: F811
    """The words of a server in a reason cannot pass for a line of the status."""
    why = "plan: 1 problem\n  a\nRefused 0 times: all is well: unknown key"
    ContactBook(site).note(subject("third-1"), "plan", why)
    said = tacit(capsys, "site", "status", str(site), "third-1").out.splitlines()
    assert not [line for line in said if line.startswith("Refused 0 times")]
    assert "all is well: unknown key" in " ".join(said)


def test_the_facts_of_a_site_are_words(capsys: Capture, site: Path) -> None:  # noqa: F811
    said = tacit(capsys, "site", "status", str(site)).out.split(" run ")[0]
    pairs = [line.split(": ", 1) for line in said.splitlines() if ": " in line]
    facts = {label: text.strip() for label, text in pairs}
    assert facts["joined"].startswith("no; ")
    assert facts["peers"] == "none"
    assert not [fact for fact in facts.values() if fact[:1] in "[{"]
    left = float(facts["least epsilon left for life"])
    assert facts["max epsilon lifetime"] == "at most 1000 per client"
    assert left == pytest.approx(1000 - float(facts["largest epsilon spent for life"]), abs=1e-3)


def test_the_page_is_for_people(capsys: Capture, site: Path) -> None:  # noqa: F811
    """Plain words in one aligned column; no Python value is printed."""
    said = tacit(capsys, "site", "status", str(site))
    lines = said.out.splitlines()
    page = lines[: [line.startswith("open runs") for line in lines].index(True) + 1]
    assert "site:                            hospital-a" in page
    assert "peers:                           none" in page
    assert "epsilon per run:                 at most 100 per client" in page
    assert "clients charged:                 5" in page
    assert not [line for line in page if any(sign in line for sign in "[]{}")]
    assert not [line for line in page if line[32] != " " or line[33] == " "]
    assert not [line for line in page if line.endswith((" True", " False", " None"))]


def test_a_site_without_a_policy_and_with_an_ended_run(capsys: Capture, site: Path) -> None:  # noqa: F811
    (site / "policy.toml").unlink()
    ended = {"record": {"key": "ab12", "length": 40, "head": "cd34"}}
    (site / "runs" / "first-1" / ENDED).write_text(json.dumps(ended))
    said = tacit(capsys, "site", "status", str(site)).out
    assert "models allowed:                  nothing: there is no policy.toml" in said
    assert "record of first-1:               key ab12, length 40, head cd34" in said
