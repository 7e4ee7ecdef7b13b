"""A site answers only with a ledger that is whole and the newest, and a second folder over the same rows gets no second budget."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tacit.deployment.doctor import diagnose_site
from tacit.deployment.site.rows.rows_register import estimate_overlap
from tacit.deployment.site.site_folder import (
    LEDGER,
    SiteSettings,
    check_ready,
    create_site,
    load_owner,
)
from tacit.deployment.site_ledger.ledger_guard import LedgerGuard
from tacit.deployment.site_ledger.witness import Witness
from tacit.errors import LedgerError, PolicyError
from tacit.privacy.claim import Claim, GaussianNoise
from tacit.privacy.policy import Limits

LIMITS = Limits(max_epsilon_per_run=100.0, max_epsilon_lifetime=1000.0, delta=1e-5)
CLAIM = Claim(
    mechanism="noise", event=GaussianNoise(2.0), unit="update", relation="replace all rows of one client", view="server",
    trust=("nobody",), rests_on="nobody", source="test",
)  # fmt: skip
PERSON = b"p" * 16


def rows(path: Path, first: int = 0, count: int = 300) -> Path:
    path.write_text(
        "who,note,label\n"
        + "".join(f"p{n},note {n * 7},{n % 2}\n" for n in range(first, first + count))
    )
    return path


def make(folder: Path, data: Path) -> Path:
    create_site(folder, SiteSettings(name=folder.name, data=str(data), server="127.0.0.1:9"))
    return folder


def charge(guard: LedgerGuard, round_no: int) -> None:
    with closing(guard.open(LIMITS, 1e-5)) as book:
        assert book.reserve("run", round_no, "train", [PERSON], (CLAIM,)) == {}
        book.store("run", round_no, "train", b"q" * 32, b"answer")


@pytest.fixture
def guard(tmp_path: Path) -> LedgerGuard:
    made = LedgerGuard(tmp_path / "site" / LEDGER, Witness(tmp_path / "elsewhere" / "witness.json"))
    made.file.parent.mkdir()
    charge(made, 1)
    return made


def test_tallies_set_to_zero_are_noticed_before_the_next_answer(guard: LedgerGuard) -> None:
    with closing(sqlite3.connect(guard.file)) as db:
        db.execute("UPDATE tallies SET micro = 0, paid = '{}'")
        db.commit()
    with pytest.raises(
        LedgerError,
        match=r"damaged at entry 2: its charge is not in the tallies\. No response is sent",
    ):
        guard.open(LIMITS, 1e-5)


def test_an_untouched_ledger_is_verified_once(
    guard: LedgerGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.privacy.policy import SiteLedger

    monkeypatch.setattr(SiteLedger, "verify", lambda book: pytest.fail("verified again"))
    charge(guard, 2)
    charge(guard, 3)


def test_a_ledger_that_somebody_only_read_is_not_verified_again(
    guard: LedgerGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.privacy.policy import SiteLedger

    before = guard.file.stat().st_mtime_ns
    for _ in range(2):
        with closing(SiteLedger(guard.file, limits=Limits(), delta=1e-5)) as other:
            assert other.receipt().counter > 1
    assert guard.file.stat().st_mtime_ns == before
    monkeypatch.setattr(SiteLedger, "verify", lambda book: pytest.fail("verified again"))
    charge(guard, 2)


def test_a_deleted_ledger_is_not_begun_anew(guard: LedgerGuard) -> None:
    for file in guard.file.parent.glob(f"{LEDGER}*"):
        file.unlink()
    with pytest.raises(
        LedgerError,
        match=r"missing but had 3 entries; the site sends no response\. Restore the newest copy",
    ):
        guard.open(LIMITS, 1e-5)
    assert not guard.file.exists()


def test_an_older_copy_is_noticed_also_by_a_new_process(guard: LedgerGuard, tmp_path: Path) -> None:
    copy = shutil.copytree(guard.file.parent, tmp_path / "backup")
    charge(guard, 2)
    shutil.rmtree(guard.file.parent)
    shutil.copytree(copy, guard.file.parent)
    again = LedgerGuard(guard.file, guard.witness)
    with pytest.raises(LedgerError, match="it has 3 entries, the receipt says 5"):
        again.open(LIMITS, 1e-5)


def test_another_ledger_of_the_same_length_is_noticed(guard: LedgerGuard, tmp_path: Path) -> None:
    other = LedgerGuard(tmp_path / "other" / LEDGER, Witness(tmp_path / "elsewhere" / "other.json"))
    other.file.parent.mkdir()
    for round_no in (7, 8):
        charge(other, round_no)
    shutil.copy(other.file, guard.file)
    with pytest.raises(LedgerError, match="so this is a different ledger"):
        LedgerGuard(guard.file, guard.witness).open(LIMITS, 1e-5)


def test_the_witness_never_goes_back(tmp_path: Path, guard: LedgerGuard) -> None:
    from tacit.privacy.policy import Receipt

    last = guard.witness.receipt()
    guard.witness.advance(Receipt(1, bytes(32)))
    assert guard.witness.receipt() == last
    guard.witness.file.write_text("{}")
    with pytest.raises(LedgerError, match="witness of the ledger cannot be read"):
        guard.open(LIMITS, 1e-5)


def test_a_witness_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    told = list[str]()
    guard = LedgerGuard(tmp_path / LEDGER, Witness(tmp_path / "file" / "witness.json"), told.append)
    with pytest.raises(LedgerError, match="witness of the ledger cannot be read"):
        guard.open(LIMITS, 1e-5)
    guard = LedgerGuard(tmp_path / LEDGER, Witness(Path("/proc/nothing/witness.json")), told.append)
    charge(guard, 1)
    charge(guard, 2)
    (sentence,) = told
    assert "an older copy of the ledger would go unnoticed" in sentence


def test_a_site_whose_ledger_is_gone_does_not_join(tmp_path: Path) -> None:
    site = make(tmp_path / "a", rows(tmp_path / "rows.csv"))
    check_ready(site)
    owner = load_owner(site)
    from tacit.privacy.policy import Policy
    from tests.simulation.small import small_plan

    with closing(
        owner.open_ledger(Policy(limits=LIMITS), small_plan(tmp_path / "rows.csv"))
    ) as book:
        book.reserve("run", 1, "train", [PERSON], (CLAIM,))
    (site / LEDGER).unlink()
    with pytest.raises(LedgerError, match="the ledger is missing"):
        check_ready(site)
    (found,) = [one for one in diagnose_site(site) if one.subject == "ledger"]
    assert found.state == "problem"
    assert "is missing but had" in found.detail


def test_a_second_folder_over_the_same_rows_is_refused(tmp_path: Path) -> None:
    first = make(tmp_path / "a", rows(tmp_path / "rows.csv"))
    check_ready(first)
    check_ready(first)  # the same site again
    moved = first.rename(tmp_path / "moved")
    check_ready(moved)
    with pytest.raises(
        PolicyError,
        match=(
            r"another site, in .*moved, keeps the ledger of about 100% of these rows; join with"
        ),
    ):
        check_ready(make(tmp_path / "b", rows(tmp_path / "copy.csv")))
    with pytest.raises(PolicyError, match=r"another site, in .*, keeps the ledger"):
        check_ready(make(tmp_path / "c", rows(tmp_path / "grown.csv", first=100, count=400)))
    check_ready(make(tmp_path / "d", rows(tmp_path / "others.csv", first=10_000)))


def test_the_register_holds_no_rows_and_differs_between_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for machine in ("one", "two"):
        monkeypatch.setenv("TACIT_STATE", str(tmp_path / machine))
        check_ready(make(tmp_path / f"site-{machine}", rows(tmp_path / f"{machine}.csv")))
        (file,) = (tmp_path / machine / "rows").glob("*.json")
        found.append(file.read_text())
        assert "note 7" not in file.read_text()
    assert found[0].split('"rows"')[1] != found[1].split('"rows"')[1]


def test_overlap_is_that_of_the_sets() -> None:
    one, other = ([f"{n:04d}" for n in range(first, first + 1000)] for first in (0, 500))
    assert estimate_overlap(one, other) == pytest.approx(
        0.5, abs=0.01
    )  # of the thousand smallest, 500 are in both
