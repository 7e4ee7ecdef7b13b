"""A site that is killed at any point has charged for everything it sent, once; and several processes share one ledger."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from tacit.privacy.claim import GaussianNoise
from tacit.privacy.policy import Limits, SiteLedger
from tacit.privacy.site_ledger.charging import split_pseudonyms
from tests.privacy.claims import ADD, claim

NOISE = (claim(GaussianNoise(50.0), relation=ADD),)
EVERYBODY = [bytes([number]) * 16 for number in range(5)]
LIMITS = Limits(max_epsilon_per_run=1000, max_epsilon_lifetime=1000, max_rounds_per_day=10**6)
FORK = get_context("fork")
ROUNDS = 12


def opened(folder: Path, limits: Limits = LIMITS) -> SiteLedger:
    return SiteLedger(folder / "book.db", limits=limits, delta=1e-5)


def send(folder: Path, round_no: int, answer: bytes) -> None:
    with (folder / "sent").open("a") as wire:
        wire.write(f"{round_no} {hashlib.sha256(answer).hexdigest()}\n")


def honest(folder: Path, dies_at: int) -> None:
    """Answer every round in the right order, and die at some step."""
    steps = _mortal(dies_at)
    book = opened(folder)
    for round_no in range(1, ROUNDS + 1):
        request = round_no.to_bytes(32, "big")
        answer = book.find_response("r", round_no, "train", request)
        steps()
        if answer is None:
            assert book.reserve("r", round_no, "train", EVERYBODY, NOISE) == {}
            steps()
            answer = os.urandom(100)
            book.store("r", round_no, "train", request, answer)
            steps()
        send(folder, round_no, answer)
        steps()


def careless(folder: Path, dies_at: int) -> None:
    """Send first and pay afterwards: the twin that has to be caught."""
    steps = _mortal(dies_at)
    book = opened(folder)
    for round_no in range(1, ROUNDS + 1):
        send(folder, round_no, os.urandom(100))
        steps()
        assert book.reserve("r", round_no, "train", EVERYBODY, NOISE) == {}
        steps()


def _mortal(dies_at: int) -> Callable[[], None]:
    left = [dies_at]

    def step() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return step


def findings(folder: Path) -> tuple[set[int], set[int], int]:
    """Return rounds that were sent but not charged, rounds sent with two different answers, and charges beyond one a round."""
    book, sent = opened(folder), dict[int, set[str]]()
    book.verify()
    lines = (folder / "sent").read_text().split("\n")[:-1] if (folder / "sent").exists() else []
    for line in lines:
        round_no, digest = line.split()
        sent.setdefault(int(round_no), set()).add(digest)
    paid = [entry.body for entry in book.entries() if entry.kind == "reserved"]
    charged = [
        one["round_no"]
        for one in paid
        if all(split_pseudonyms(group["persons"]) == EVERYBODY for group in one["paid"])
    ]
    times = [max(group["paid"].values()) for one in paid for group in one["paid"]]
    return (
        set(sent) - set(charged),
        {one for one, answers in sent.items() if len(answers) > 1},
        max(times, default=0) - len(set(charged)),
    )


def lives(
    folder: Path, life: Callable[[Path, int], None], dies_at: int, after: float | None
) -> int | None:
    """Let a site live until it dies by itself or is killed; return how it ended."""
    child = FORK.Process(target=life, args=(folder, dies_at))
    child.start()
    if after is not None:
        time.sleep(after)
        child.kill()
    child.join(60)
    return child.exitcode


def test_killed_twenty_times_nothing_is_sent_unpaid_and_nothing_paid_twice(tmp_path: Path) -> None:
    draws = np.random.default_rng(11)
    for turn in range(20):
        # Half of the kills hit a chosen step, half come from outside whenever they come, in the middle of a commit perhaps.
        inside = turn % 2 == 0
        lives(
            tmp_path,
            honest,
            int(draws.integers(1, 12)) if inside else 0,
            None if inside else float(draws.uniform(0, 0.05)),
        )
        assert findings(tmp_path) == (set(), set(), 0)
    assert lives(tmp_path, honest, 0, None) == 0, "in the end the run completes"
    assert findings(tmp_path) == (set(), set(), 0)
    one, *_ = opened(tmp_path).totals()
    assert one.runs.keys() == {"r"}


def test_a_site_that_sends_first_is_caught(tmp_path: Path) -> None:
    lives(tmp_path, careless, 5, None)
    uncharged, _, _ = findings(tmp_path)
    assert uncharged == {3}


def spend(folder: Path, who: int) -> None:
    book = opened(
        folder, Limits(max_epsilon_per_run=1, max_epsilon_lifetime=1, max_rounds_per_day=10**6)
    )
    for round_no in range(1, 16):
        book.reserve(f"run {who}", round_no, "train", EVERYBODY, NOISE)


def test_four_processes_together_spend_no_more_than_the_budget(tmp_path: Path) -> None:
    spenders = [FORK.Process(target=spend, args=(tmp_path, who)) for who in range(4)]
    for one in spenders:
        one.start()
    for one in spenders:
        one.join(60)
    assert [one.exitcode for one in spenders] == [0] * 4, (
        "nobody was told that the ledger is in use"
    )
    book = opened(tmp_path)
    book.verify()
    spent = [one.life.micro for one in book.totals()]
    assert len(spent) == len(EVERYBODY)
    assert all(800_000 < one <= 1_000_000 for one in spent)


@pytest.mark.parametrize("where", ["reserve", "store"])
def test_a_full_disk_refuses_and_keeps_what_is_there(tmp_path: Path, where: str) -> None:
    assert _told(tmp_path, where) == 0
    book = opened(tmp_path)
    book.verify()
    assert [entry.kind for entry in book.entries()][:3] == ["opened", "reserved", "stored"]
    assert book.find_response("r", 1, "train", b"q" * 32) == b"kept"


def _told(folder: Path, where: str) -> int | None:
    child = FORK.Process(target=_fill, args=(folder, where))
    child.start()
    child.join(60)
    return child.exitcode


def _fill(folder: Path, where: str) -> None:
    """Write until a limit on the size of files is met; leave with 0 if that was told as it should be."""
    import resource

    from tacit.errors import LedgerError

    book = opened(folder)
    book.reserve("r", 1, "train", EVERYBODY, NOISE)
    book.store("r", 1, "train", b"q" * 32, b"kept")
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
    before = 0
    try:
        for round_no in range(2, 100):
            before = book.receipt().counter
            if where == "reserve":
                many = [(number * 1000 + round_no).to_bytes(16, "big") for number in range(200)]
                book.reserve("r", round_no, "train", many, NOISE)
            else:
                book.reserve("r", round_no, "train", EVERYBODY, NOISE)
                before = book.receipt().counter
                book.store("r", round_no, "train", b"q" * 32, bytes(20_000))
    except LedgerError as error:
        told = "the disk is full or failing" in str(error) and "No response is sent" in str(error)
        os._exit(0 if told and book.receipt().counter == before else 3)
    os._exit(4)
