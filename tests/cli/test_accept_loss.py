"""tacit site ledger accept-loss: a lost ledger is replaced by its owner's word, and the new one says so."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tacit.deployment.site.site_folder import (
    LEDGER,
    SiteSettings,
    check_ready,
    create_site,
    load_owner,
    open_witness,
    read_site_settings,
)
from tacit.deployment.site.stored_runs import has_ended
from tacit.errors import LedgerError
from tacit.plan import Plan
from tacit.privacy.policy import Limits, SiteLedger
from tests.cli.made_up import tacit
from tests.deployment.test_ledger_guard import CLAIM, LIMITS, PERSON, rows

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    folder = tmp_path / "hospital-a"
    create_site(
        folder,
        SiteSettings(
            name="hospital-a", data=str(rows(tmp_path / "rows.csv")), server="127.0.0.1:9"
        ),
    )
    (folder / "policy.toml").write_text(
        "[limits]\nmax_epsilon_per_run = 100\nmax_epsilon_lifetime = 1000\n"
    )
    charge(folder, 1)
    (folder / "runs" / "open-1").mkdir(parents=True)
    (folder / "runs" / "open-1" / "root").write_bytes(bytes(32))
    return folder


def charge(folder: Path, round_no: int) -> None:
    owner = load_owner(folder)
    with closing(owner.open_ledger(owner.require_policy(), Plan())) as book:
        assert book.reserve("run", round_no, "train", [PERSON], (CLAIM,)) == {}


def lose(folder: Path) -> None:
    for file in folder.glob(f"{LEDGER}*"):
        file.unlink()


def losses(folder: Path) -> list[dict[str, object]]:
    with closing(SiteLedger(folder / LEDGER, limits=LIMITS, delta=1e-5)) as book:
        book.verify()
        return book.list_entries("loss accepted")


def test_a_lost_ledger(capsys: Capture, site: Path) -> None:
    lose(site)
    with pytest.raises(LedgerError, match="`tacit site ledger accept-loss DIR`"):
        check_ready(site)
    before = open_witness(site, read_site_settings(site)).receipt()
    said = tacit(capsys, "site", "ledger", "accept-loss", str(site), "--yes")
    assert said.code == 0
    told = " ".join(said.out.split())
    assert "the ledger had 2 entries, of which this site has 0 at most" in told
    assert "so clients can be charged beyond max_epsilon_lifetime" in told
    (entry,) = losses(site)
    assert (entry["entries_before"], entry["head_before"], entry["entries_left"]) == (
        2,
        before.head.hex(),
        0,
    )
    assert entry["runs_ended"] == ["open-1"]
    assert has_ended(load_owner(site), "open-1")
    check_ready(site)
    charge(site, 2)
    assert (
        "its owner accepted the loss of entries once"
        in tacit(capsys, "site", "ledger", "show", str(site / LEDGER)).out
    )


def test_an_older_copy(capsys: Capture, site: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "backup")
    charge(site, 2)
    lose(site)
    for file in (tmp_path / "backup").glob(f"{LEDGER}*"):
        shutil.copy(file, site / file.name)
    with pytest.raises(LedgerError, match="older than its last receipt"):
        check_ready(site)
    assert tacit(capsys, "site", "ledger", "accept-loss", str(site), "--yes").code == 0
    (entry,) = losses(site)
    assert (entry["entries_before"], entry["entries_left"]) == (3, 2)
    check_ready(site)


def test_another_name_changes_nothing(
    capsys: Capture, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(site)
    monkeypatch.setattr("typer.prompt", lambda text, err: "hospital-b")
    said = tacit(capsys, "site", "ledger", "accept-loss", str(site))
    assert said.code == 6
    assert "nothing was changed" in said.err
    assert not (site / LEDGER).exists()
    monkeypatch.setattr("typer.prompt", lambda text, err: "hospital-a")
    assert tacit(capsys, "site", "ledger", "accept-loss", str(site)).code == 0


def test_where_nothing_is_lost_nothing_is_accepted(capsys: Capture, site: Path) -> None:
    said = tacit(capsys, "site", "ledger", "accept-loss", str(site), "--yes")
    assert said.code == 6
    assert "is intact and the newest copy, so nothing is lost" in said.err
    assert losses(site) == []


def test_a_damaged_witness(capsys: Capture, site: Path) -> None:
    open_witness(site, read_site_settings(site)).file.write_text("{")
    with pytest.raises(LedgerError, match="accept-loss"):
        check_ready(site)
    assert tacit(capsys, "site", "ledger", "accept-loss", str(site), "--yes").code == 0
    (entry,) = losses(site)
    assert "entries_before" not in entry
    check_ready(site)


def test_a_ledger_that_lost_something_says_so(capsys: Capture, site: Path) -> None:
    lose(site)
    tacit(capsys, "site", "ledger", "accept-loss", str(site), "--yes")
    found = json.loads(tacit(capsys, "site", "ledger", "show", str(site / LEDGER), "--json").out)
    assert found["losses_accepted"] == 1
    with closing(SiteLedger(site / LEDGER, limits=Limits(), delta=1e-5)) as book:
        assert [entry.kind for entry in book.entries()] == ["opened", "loss accepted"]
