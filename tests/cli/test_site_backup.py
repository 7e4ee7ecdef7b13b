"""tacit site backup and restore: one private file, no rows, no noise keys, and no budget that comes back."""

from __future__ import annotations

import json
import shutil
import stat
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from tacit.deployment.doctor import diagnose_site
from tacit.deployment.site.site_folder import (
    LEDGER,
    check_ready,
    load_owner,
    open_witness,
    read_site_settings,
)
from tacit.deployment.site.stored_runs import has_ended, list_open_runs
from tacit.errors import LedgerError, RunError
from tacit.plan import Plan
from tacit.privacy.policy import SiteLedger
from tests.cli.made_up import tacit
from tests.cli.test_site_erase import site  # noqa: F401 (a fixture)
from tests.deployment.test_ledger_guard import CLAIM, LIMITS

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(site: Path) -> Path:  # noqa: F811
    """A site with a run under way, private parameters and a model."""
    run = site / "runs" / "open-1"
    (run / "promised").mkdir(parents=True)
    (run / "root").write_bytes(b"n" * 32)
    (run / "offer").write_bytes(b"an offer")
    (run / "promised" / "x").write_bytes(b"promised")
    part = site / "runs" / "first-1" / "private" / "0" / "1.safetensors"
    part.write_bytes(b"private parameters")
    (site / "models" / "first-1").mkdir(parents=True)
    (site / "models" / "first-1" / "model.safetensors").write_bytes(b"model")
    return site


def charge(folder: Path, round_no: int) -> None:
    owner = load_owner(folder)
    with closing(owner.open_ledger(owner.require_policy(), Plan())) as book:
        assert book.reserve("later-1", round_no, "train", [owner.pseudonym("1")], (CLAIM,)) == {}


def spent(folder: Path) -> int:
    with closing(SiteLedger(folder / LEDGER, limits=LIMITS, delta=1e-5)) as book:
        book.verify()
        return sum(one.life.micro for one in book.totals())


def entries(folder: Path, kind: str) -> list[dict[str, object]]:
    with closing(SiteLedger(folder / LEDGER, limits=LIMITS, delta=1e-5)) as book:
        return book.list_entries(kind)  # type: ignore[arg-type]


def back_up(capsys: Capture, home: Path, name: str = "backup.tar") -> Path:
    file = home.parent / name
    said = tacit(capsys, "site", "backup", str(home), str(file))
    assert said.code == 0, said.err
    assert "not encrypted" in said.out
    return file


def put_back(capsys: Capture, file: Path, folder: Path) -> str:
    said = tacit(capsys, "site", "restore", str(file), str(folder), "--yes")
    assert said.code == 0, said.err
    return " ".join(said.out.split())


def test_what_a_backup_holds(capsys: Capture, home: Path) -> None:
    file = back_up(capsys, home)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tarfile.open(file) as archive:
        names = archive.getnames()
        manifest = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
    for name in ("secret", "node.key", "signing.key", "policy.toml", "site.toml", LEDGER):
        assert name in names
    assert "runs/first-1/private/0/1.safetensors" in names
    assert "models/first-1/model.safetensors" in names
    assert [name for name in names if name.startswith("runs/open-1/")] == ["runs/open-1/ended"]
    assert b"n" * 32 not in file.read_bytes()
    assert (home.parent / "rows.csv").read_bytes() not in file.read_bytes()
    assert manifest["open_runs"] == ["open-1"]
    assert sorted(path.name for path in home.parent.glob(".*")) == []
    again = tacit(capsys, "site", "backup", str(home), str(file))
    assert again.code != 0
    assert "exists" in again.err


def test_the_newest_backup_on_the_same_machine(capsys: Capture, home: Path) -> None:
    file, before = back_up(capsys, home), spent(home)
    shutil.rmtree(home)
    said = put_back(capsys, file, home)
    assert "runs that ended with it: open-1" in said
    check_ready(home)
    assert spent(home) == before
    owner = load_owner(home)
    assert list_open_runs(owner) == []
    assert has_ended(owner, "open-1")
    assert not (home / "runs" / "open-1" / "root").exists()
    (entry,) = entries(home, "restored")
    with closing(SiteLedger(home / LEDGER, limits=LIMITS, delta=1e-5)) as book:
        assert entry["entries"] == book.receipt().counter - 1
        assert open_witness(home, read_site_settings(home)).receipt() == book.receipt()
    charge(home, 1)
    assert spent(home) > before
    modes = {stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert (
        "restored from a backup once"
        in tacit(capsys, "site", "ledger", "show", str(home / LEDGER)).out
    )


def test_an_older_backup_gives_back_no_budget(capsys: Capture, home: Path) -> None:
    """The witness of this machine knows a newer ledger: the site responds to nothing."""
    file = back_up(capsys, home)
    charge(home, 1)
    newest = home.parent / "newest"
    shutil.copytree(home, newest)
    shutil.rmtree(home)
    assert "newer ledger" in put_back(capsys, file, home)
    assert entries(home, "restored") == []
    with pytest.raises(LedgerError, match="older than its last receipt"):
        check_ready(home)
    with pytest.raises(LedgerError, match="older than its last receipt"):
        charge(home, 2)
    assert any(one.state == "problem" for one in diagnose_site(home) if one.subject == "ledger")
    for path in home.glob(f"{LEDGER}*"):
        path.unlink()
    for path in newest.glob(f"{LEDGER}*"):
        shutil.copy2(path, home / path.name)
    check_ready(home)
    charge(home, 2)


def test_an_older_backup_whose_owner_accepts_the_loss(capsys: Capture, home: Path) -> None:
    file = back_up(capsys, home)
    charge(home, 1)
    shutil.rmtree(home)
    put_back(capsys, file, home)
    assert tacit(capsys, "site", "ledger", "accept-loss", str(home), "--yes").code == 0
    check_ready(home)
    assert len(entries(home, "loss accepted")) == 1


def test_another_machine(capsys: Capture, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There only the owner can know; the ledger says for good that it was restored."""
    file = back_up(capsys, home)
    monkeypatch.setenv("TACIT_STATE", str(home.parent / "other-state"))
    there = home.parent / "moved"
    assert "cannot tell whether the backup is the newest" in put_back(capsys, file, there)
    assert len(entries(there, "restored")) == 1
    check_ready(there)
    charge(there, 1)
    second = home.parent / "again"
    assert "newer ledger" in put_back(capsys, file, second), "now this machine knows"
    with pytest.raises(LedgerError):
        charge(second, 1)


def test_two_copies_do_not_share_a_budget(capsys: Capture, home: Path) -> None:
    file = back_up(capsys, home)
    second = home.parent / "second"
    put_back(capsys, file, second)
    charge(second, 1)
    with pytest.raises(LedgerError, match="older than its last receipt"):
        charge(home, 1)


def test_without_the_sites_name_nothing_is_restored(
    capsys: Capture, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = back_up(capsys, home)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "hospital-b")
    said = tacit(capsys, "site", "restore", str(file), str(home.parent / "new"))
    assert said.code != 0
    assert not (home.parent / "new").exists()


def test_a_folder_with_files_is_left_alone(capsys: Capture, home: Path) -> None:
    file, before = back_up(capsys, home), (home / LEDGER).read_bytes()
    said = tacit(capsys, "site", "restore", str(file), str(home), "--yes")
    assert said.code != 0
    assert "not empty" in said.err
    assert (home / LEDGER).read_bytes() == before


@pytest.mark.parametrize("at", [600, 900, -20_000])
def test_a_damaged_backup_restores_nothing(capsys: Capture, home: Path, at: int) -> None:
    from tacit.deployment.upkeep.restore import read_backup

    file = back_up(capsys, home)
    content = bytearray(file.read_bytes())
    content[at] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(RunError, match="not a whole backup"):
        read_backup(file)
    file.write_bytes(content[: len(content) // 2])
    assert tacit(capsys, "site", "restore", str(file), str(home.parent / "new"), "--yes").code != 0
    assert not (home.parent / "new").exists()


def test_a_backup_that_others_may_read(capsys: Capture, home: Path) -> None:
    file = back_up(capsys, home)
    file.chmod(0o644)
    said = tacit(capsys, "site", "restore", str(file), str(home.parent / "new"), "--yes")
    assert said.code != 0
    assert "chmod 600" in said.err


def test_a_backup_of_a_site_that_was_never_asked(capsys: Capture, home: Path) -> None:
    for path in home.glob(f"{LEDGER}*"):
        path.unlink()
    open_witness(home, read_site_settings(home)).file.unlink()
    file = back_up(capsys, home)
    there = home.parent / "there"
    put_back(capsys, file, there)
    check_ready(there)
