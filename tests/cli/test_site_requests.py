"""tacit site requests, approve, refuse: an owner reads a request and decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.site.site_folder import SiteSettings, create_site, load_owner
from tests.cli.made_up import tacit
from tests.deployment.approval.waiting_site import ASK, DP
from tests.deployment.hostile import HostileServer
from tests.deployment.test_erasure import job, write_patients

Capture = pytest.CaptureFixture[str]
NAME = "job-1"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site that one run waits at."""
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    folder = tmp_path / "hospital-a"
    rows = write_patients(tmp_path / "rows.csv")
    settings = SiteSettings(
        name="hospital-a",
        data=str(rows),
        server="tacit.example:8443",
        client="patient",
        quasi_identifiers=("age", "town"),
    )
    create_site(folder, settings)
    (folder / "policy.toml").write_text(ASK)
    assert ask(folder).status == "approval"
    return folder


def ask(folder: Path, name: str = NAME) -> HostileServer:
    server = HostileServer(OwnerSite(load_owner(folder)), job(codec=DP), name)
    server.open()
    return server


def test_requests_are_listed_and_shown(capsys: Capture, site: Path) -> None:
    said = tacit(capsys, "site", "requests", str(site))
    assert NAME in said.out
    assert "waiting" in said.out
    shown = tacit(capsys, "site", "requests", str(site), NAME)
    for words in (
        "tacit.example:8443", "'outcome'", "Reads as numeric: 'age'", "At most epsilon",
        "Differential privacy protects", "Of 1,000,000,000,000 per client in all runs",
        f"tacit site approve {site} {NAME}",
    ):  # fmt: skip
        assert words in shown.out
    found = json.loads(tacit(capsys, "site", "requests", str(site), "--json").out)["requests"]
    assert [one["state"] for one in found] == ["waiting"]
    assert found[0]["bound"]["cost"]["epsilon"] > 0


def test_an_approval(capsys: Capture, site: Path) -> None:
    said = tacit(capsys, "site", "approve", str(site), NAME, "--yes")
    assert said.code == 0, said.err
    assert f"run {NAME}: approved; the decision is in the ledger" in said.out
    assert ask(site).status == "ok"
    assert "no run waits" in tacit(capsys, "site", "requests", str(site)).out
    assert "approved" in tacit(capsys, "site", "requests", str(site), "--all").out
    assert tacit(capsys, "site", "ledger", "verify", str(site)).code == 0
    entries = tacit(capsys, "site", "ledger", "export", str(site)).out
    (decided,) = [one for one in map(json.loads, entries.splitlines()) if one["kind"] == "approved"]
    assert decided["run"] == NAME
    ledger = json.loads(tacit(capsys, "site", "ledger", "show", str(site), "--json").out)
    assert [one["verdict"] for one in ledger["decisions"]] == ["approved"]


def test_a_refusal_and_its_reason(capsys: Capture, site: Path) -> None:
    words = ("site", "refuse", str(site), NAME, "--reason", "too \x1b[2K much", "--yes", "--json")
    found = json.loads(tacit(capsys, *words).out)
    assert (found["verdict"], found["reason"]) == ("refused", "too \x1b[2K much")
    server = ask(site)
    assert (server.status, server.rule) == ("policy", "policy.approve")
    shown = tacit(capsys, "site", "requests", str(site), NAME).out
    assert "refused on" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("approve", "job-9", "--yes"), 6, "has asked for approval"),
        (("approve", NAME, "--json"), 2, "--json cannot ask"),
        (("refuse", NAME, "--yes", "--reason", "x" * 501), 2, "at most 500 characters"),
    ],
)
def test_what_is_not_decided(
    capsys: Capture, site: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    found = tacit(capsys, "site", words[0], str(site), *words[1:])
    assert found.code == code
    assert said in found.err + found.out
    assert ask(site).status == "approval"
