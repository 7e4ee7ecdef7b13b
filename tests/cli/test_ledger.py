"""tacit site ledger: what was paid is shown, a whole ledger passes, a damaged one ends with six and the entry's number."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tacit.privacy.claim import Pure
from tacit.privacy.policy import Limits, SiteLedger
from tests.cli.made_up import tacit
from tests.privacy.claims import claim

Capture = pytest.CaptureFixture[str]
PEOPLE = [bytes([number]) * 16 for number in range(3)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    book = SiteLedger(
        tmp_path / "ledger.db",
        limits=Limits(max_epsilon_per_run=5, max_epsilon_lifetime=5),
        delta=1e-5,
    )
    book.reserve("r", 1, "train", PEOPLE, (claim(Pure(0.5)),))
    book.store("r", 1, "train", b"q", b"an answer")
    book.reserve("r", 2, "train", PEOPLE[:1], (claim(Pure(0.5)),))
    book.close()
    return tmp_path / "ledger.db"


def test_show(capsys: Capture, file: Path) -> None:
    said = tacit(capsys, "site", "ledger", "show", str(file), "--limit", "2")
    assert said.code == 0
    assert "4 entries, 3 clients, 2 exchanges charged (1 of them without a response" in said.out
    assert PEOPLE[0].hex() in said.out
    assert "1 more clients were charged at most as much" in said.out
    found = json.loads(tacit(capsys, "site", "ledger", "show", str(file), "--json").out)
    assert [one["client"] for one in found["clients"]] == [person.hex() for person in PEOPLE]
    assert 900_000 < found["clients"][0]["micro_epsilon"] <= 1_000_000


def test_export_is_one_entry_per_line(capsys: Capture, file: Path) -> None:
    lines = [
        json.loads(line)
        for line in tacit(capsys, "site", "ledger", "export", str(file)).out.splitlines()
    ]
    assert [line["kind"] for line in lines] == ["opened", "reserved", "stored", "reserved"]
    assert "an answer" not in str(lines)


def test_verify(capsys: Capture, file: Path) -> None:
    assert "ok, 4 entries" in tacit(capsys, "site", "ledger", "verify", str(file)).out
    assert (
        json.loads(tacit(capsys, "site", "ledger", "verify", str(file), "--json").out)["ok"] is True
    )
    with sqlite3.connect(file) as db:
        db.execute("UPDATE tallies SET micro = 1")
    said = tacit(capsys, "site", "ledger", "verify", str(file))
    assert said.code == 6
    assert "the ledger is damaged at entry 2" in said.err


@pytest.mark.parametrize("command", ["show", "verify", "export"])
def test_a_ledger_that_is_not_there(capsys: Capture, tmp_path: Path, command: str) -> None:
    assert tacit(capsys, "site", "ledger", command, str(tmp_path / "none.db")).code == 6
    assert not (tmp_path / "none.db").exists()


def test_the_folder_of_a_site_will_do(capsys: Capture, file: Path) -> None:
    file.rename(file.with_name("ledger.sqlite"))
    for command in ("show", "verify", "export"):
        named = tacit(capsys, "site", "ledger", command, str(file.with_name("ledger.sqlite")))
        assert named.code == 0
        assert tacit(capsys, "site", "ledger", command, str(file.parent)).out == named.out
    file.with_name("ledger.sqlite").rename(file)
    said = tacit(capsys, "site", "ledger", "show", str(file.parent))
    assert said.code == 6
    assert "give the path of a site's ledger, or its folder" in said.err
