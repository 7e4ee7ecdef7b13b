"""An erased client: its rows are used no more, its parts are deleted, its charges stay, and nobody else's message changes."""

from __future__ import annotations

import csv
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import plan as plans
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.site import client_parts
from tacit.deployment.site.owner_site import OwnerSite
from tacit.plan import Plan
from tacit.privacy.policy import PrivacyUnit
from tacit.runs.client_numbers import load_clients
from tests.deployment.hostile import HostileServer, payloads
from tests.deployment.local_post import GENEROUS, owner

GONE = "p007"
COUNT = 60


def write_patients(path: Path, *, without: str = "") -> Path:
    draw = np.random.default_rng(5)
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["patient", "age", "town", "outcome"])
        for number in range(COUNT):
            for _ in range(4):
                row = [
                    f"p{number:03d}",
                    draw.integers(20, 80),
                    "ab"[number % 2],
                    "yn"[number // 2 % 2],
                ]
                if row[0] != without:
                    lines.writerow(row)
    return path


def job(**changes: Any) -> Plan:
    columns = {"client": "patient", "numeric": ["age"], "categorical": ["town"], "label": "outcome"}
    tree: dict[str, Any] = {
        "name": "erasure", "data": {"source": "given", "test": 0.5, "columns": columns},
        "model": {"name": "logistic"}, "codec": {"name": "plain"}, "server": {"rounds": 4},
    }  # fmt: skip
    return prepare_for_sites(plans.parse({**tree, **changes}))


class Clinic:
    """A site, its log, and a server that asks it."""

    def __init__(self, folder: Path, plan: Plan | None = None, *, without: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.told = folder, list[str]()
        unit = PrivacyUnit(client="patient", quasi_identifiers=("age", "town"))
        self.owner = owner(
            "a", write_patients(folder / "rows.csv", without=without), folder / "a", GENEROUS,
            tell=self.told.append, unit=unit,
        )  # fmt: skip
        self.server = HostileServer(OwnerSite(self.owner), plan or job())
        self.run_folder().mkdir(parents=True)
        (self.run_folder() / "root").write_bytes(bytes(32))  # equal draws at every clinic

    def erase(self, name: str = GONE) -> None:
        with closing(self.owner.open_ledger(self.owner.require_policy(), Plan())) as book:
            assert book.erase(self.owner.pseudonym(name))

    def restart(self) -> None:
        self.server.site = OwnerSite(self.owner)

    def charges(self, name: str) -> int:
        with closing(self.owner.open_ledger(self.owner.require_policy(), Plan())) as book:
            book.verify()
            account = book.account(self.owner.pseudonym(name))
        return sum(one.charges for one in account.runs.values())

    def number(self, name: str = GONE) -> int:
        return load_clients(self.run_folder())[self.owner.pseudonym(name)]

    def run_folder(self) -> Path:
        return self.owner.folder / "runs" / self.server.run


@pytest.mark.parametrize("restarts", [False, True])
def test_a_run_under_way(tmp_path, restarts) -> None:
    """The client responds no more and is charged no more; the messages of others are the same bytes."""
    with_it, without_it = Clinic(tmp_path / "one"), Clinic(tmp_path / "two")
    for clinic in (with_it, without_it):
        clinic.server.start()
        assert with_it.number() in payloads(clinic.server.train(round_no=1))
    gone = with_it.number()
    without_it.erase()
    if restarts:
        with_it.restart(), without_it.restart()
    every, others = (
        payloads(clinic.server.train(0.5, round_no=2)) for clinic in (with_it, without_it)
    )
    assert every.pop(gone)
    assert others == every
    assert (with_it.charges(GONE), without_it.charges(GONE)) == (2, 1)
    assert without_it.charges("p008") == 2


def test_a_server_learns_that_the_client_is_silent_and_not_why(tmp_path) -> None:
    clinic = Clinic(tmp_path)
    clinic.server.start()
    clinic.erase()
    answers = clinic.server.train()
    assert answers.refused == [(clinic.number(), "owner")]
    assert not [line for line in clinic.told if GONE in line]


def test_only_erased_clients_are_asked(tmp_path) -> None:
    clinic = Clinic(tmp_path)
    clinic.server.start()
    clinic.erase()
    answers = clinic.server.train(to=[clinic.number()])
    assert (clinic.server.status, answers.frames, len(answers.refused)) == ("ok", [], 1)
    assert clinic.charges(GONE) == clinic.charges("p008") == 0
    for number in range(COUNT):
        if f"p{number:03d}" != GONE:
            clinic.erase(f"p{number:03d}")
    assert clinic.server.train(0.5, round_no=2) is None
    assert clinic.server.status == "policy"


def test_a_later_run_is_that_of_a_file_without_the_rows(tmp_path) -> None:
    """Clients, rows, statistics, messages and counts are those of a file that never had the rows."""
    erased, never = Clinic(tmp_path / "one"), Clinic(tmp_path / "two", without=GONE)
    erased.erase()
    for clinic in (erased, never):
        clinic.server.start()
    assert erased.owner.pseudonym(GONE) not in load_clients(erased.run_folder())
    assert "4 rows of erased clients are left out" in " ".join(erased.told)
    opened = [clinic.server.open() for clinic in (erased, never)]
    for fact in ("clients", "rows", "test_rows", "seen"):
        assert getattr(opened[0], fact) == getattr(opened[1], fact)
    one, other = (clinic.server.train() for clinic in (erased, never))
    assert one, erased.told
    assert payloads(one) == payloads(other)
    assert erased.server.measure(0.1).counts == never.server.measure(0.1).counts
    erased.restart()
    assert len(payloads(erased.server.train(0.1, round_no=2))) == len(payloads(other))
    assert erased.charges(GONE) == 0


def test_held_out_rows_of_a_run_under_way_do_not_count(tmp_path) -> None:
    one, other = Clinic(tmp_path / "one"), Clinic(tmp_path / "two")
    for clinic in (one, other):
        clinic.server.start()
        clinic.server.train()
    other.erase()
    every, others = (clinic.server.measure(0.1).counts.rows for clinic in (one, other))
    assert 0 < every - others <= 4
    assert (one.charges(GONE), other.charges(GONE)) == (1, 1)


def test_what_a_run_keeps_of_the_client_is_deleted(tmp_path) -> None:
    clinic = Clinic(tmp_path)
    clinic.server.start()
    number, folder = clinic.number(), clinic.run_folder()
    for name in (number, number + 1):
        for part in ("private", "codec"):
            (folder / part / str(name)).mkdir(parents=True)
            (folder / part / str(name) / "1.safetensors").write_bytes(b"x")
        (folder / "promised" / "1-x").mkdir(parents=True, exist_ok=True)
        (folder / "promised" / "1-x" / f"{name}.safetensors").write_bytes(b"x")
    clinic.erase()
    clinic.server.train()
    left = {path.parent.name for path in folder.glob("*/*/1.safetensors")}
    assert left == {str(number + 1)}
    assert [path.stem for path in folder.glob("promised/1-x/*")] == [str(number + 1)]
    assert client_parts.delete_parts(folder, {clinic.owner.pseudonym(GONE)}) == 0


@pytest.mark.parametrize("when", ["before begin", "before rows"])
def test_rows_that_were_chosen_before_the_erasure_do_not_leave(tmp_path, when) -> None:
    columns = {
        "client": "patient", "numeric": ["age"], "categorical": ["town"], "label": "outcome",
        "quasi": ["age", "town"],
    }  # fmt: skip
    share = {"k": 2, "generalise": {"age": "ranges 60"}}
    shared = job(data={"source": "given", "test": 0.0, "columns": columns, "share": share},
                 server={"rounds": 2, "weights": "rows"})  # fmt: skip
    clinic = Clinic(tmp_path, shared)
    opened = clinic.server.open()
    assert opened, (clinic.server.status, clinic.told)
    if when == "before begin":
        clinic.erase()
    assert clinic.server.begin(opened), clinic.told
    if when == "before rows":
        clinic.erase()
    clinic.server.send("rows", "disclose rows", b"")
    assert clinic.server.status == "policy", clinic.told
    assert "start the plan as a new run" in clinic.told[-1]
    again = HostileServer(clinic.server.site, shared, "job-2").start()
    reply = again.send("rows", "disclose rows", b"")
    assert again.status == "ok", clinic.told
    assert GONE.encode() not in bytes(reply.body)
