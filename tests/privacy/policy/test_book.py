"""A site's ledger: charged before anything leaves, once, within the limits, and whole or refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.errors import LedgerError, PolicyError, RequestError
from tacit.privacy.claim import Approximate, GaussianNoise, Open, Pure, Sampled, Unproven
from tacit.privacy.policy import Limits, SiteLedger
from tacit.privacy.site_ledger.spending import compute_cost
from tests.privacy.claims import ADD, claim

ONE = (claim(Pure(1.0)),)
ANN, BOB, EVE = (bytes([number]) * 16 for number in (1, 2, 3))
ASK, OTHER = b"q" * 32, b"r" * 32
MANY = Limits(max_epsilon_per_run=100, max_epsilon_lifetime=1000)


def book_with(
    tmp_path: Path,
    limits: Limits = MANY,
    today: Callable[[], str] = lambda: "2026-11-16",
    name: str = "book",
) -> SiteLedger:
    return SiteLedger(tmp_path / f"{name}.db", limits=limits, delta=1e-5, today=today)


def price(*times: int) -> int:
    """Return what a client pays that answered so often in each of some runs."""
    return sum(compute_cost(((ONE, count),), 1e-5).micro for count in times)


def life(book: SiteLedger) -> dict[bytes, int]:
    return {one.person: one.life.micro for one in book.totals()}


def test_who_pays_has_paid_and_asked_again_pays_nothing(tmp_path: Path) -> None:
    book = book_with(tmp_path)
    assert book.reserve("r", 1, "train", [ANN, BOB, ANN], ONE) == {}
    assert book.reserve("r", 1, "train", [ANN, BOB], ONE) == {}
    assert life(book) == {ANN: price(1), BOB: price(1)}
    assert book.reserve("r", 1, "votes", [ANN], ONE) == {}
    assert life(book)[ANN] == price(2)
    again = book_with(tmp_path)
    assert again.reserve("r", 1, "train", [BOB], ONE) == {}
    assert life(again)[BOB] == price(1)
    again.verify()


def test_who_was_not_asked_the_first_time_is_not_answered_for(tmp_path: Path) -> None:
    book = book_with(tmp_path)
    book.reserve("r", 1, "train", [ANN], ONE)
    assert (
        "was not among the clients when this exchange was charged"
        in book.reserve("r", 1, "train", [ANN, BOB], ONE)[BOB]
    )
    with pytest.raises(RequestError, match="was requested before with other privacy claims"):
        book.reserve("r", 1, "train", [ANN], (claim(Pure(0.5)),))
    assert life(book) == {ANN: price(1)}


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (
            Limits(max_epsilon_per_update=0.5, max_epsilon_per_run=9, max_epsilon_lifetime=9),
            "limits.max_epsilon_per_update = 0.5 per client",
        ),
        (
            Limits(max_epsilon_per_run=0.5, max_epsilon_lifetime=9),
            "limits.max_epsilon_per_run = 0.5 per client: with this response the run's privacy loss for this client is",
        ),
        (
            Limits(max_epsilon_per_run=9, max_epsilon_lifetime=0.5),
            "limits.max_epsilon_lifetime = 0.5 per client: with this response the privacy loss of all runs for this client is",
        ),
        (Limits(), "limits.max_epsilon_per_run is not set"),
    ],
)
def test_beyond_a_limit_nobody_is_charged_and_nothing_written(
    tmp_path: Path, limits: Limits, sentence: str
) -> None:
    book = book_with(tmp_path, limits)
    before = book.receipt()
    refused = book.reserve("r", 1, "train", [ANN, BOB], ONE)
    assert set(refused) == {ANN, BOB}
    assert refused[ANN].startswith(sentence)
    assert life(book) == {}
    assert book.receipt() == before
    with pytest.raises(PolicyError, match="no budget was reserved, so no response may be sent"):
        book.store("r", 1, "train", ASK, b"answer")


def test_a_budget_for_life_runs_out_over_runs(tmp_path: Path) -> None:
    book = book_with(tmp_path, Limits(max_epsilon_per_run=2, max_epsilon_lifetime=3))
    for run in ("a", "b", "c"):
        assert book.reserve(run, 1, "train", [ANN], ONE) == {}
    assert book.reserve("d", 1, "train", [BOB], ONE) == {}
    refused = book.reserve("d", 2, "train", [ANN, BOB], ONE)
    assert list(refused) == [ANN]
    assert (
        "limits.max_epsilon_lifetime = 3 per client: with this response the privacy loss of all runs for this client is 3.99"
        in refused[ANN]
    )
    assert book.reserve("d", 2, "train", [ANN, BOB], ONE) == refused, "asked again, the same"
    assert set(book.reserve("d", 3, "train", [ANN, BOB], ONE)) == {ANN, BOB}, "BOB's run is full"
    assert life(book) == {ANN: price(1, 1, 1), BOB: price(2)}


def test_decimal_limits_are_reached_exactly(tmp_path: Path) -> None:
    book = book_with(tmp_path, Limits(max_epsilon_per_run=0.3, max_epsilon_lifetime=0.3))
    tenth = (claim(Pure(0.1)),)
    for round_no in (1, 2, 3):
        assert book.reserve("r", round_no, "train", [ANN], tenth) == {}
    assert set(book.reserve("r", 4, "train", [ANN], tenth)) == {ANN}


def test_a_run_is_composed_as_the_ledger_does_and_runs_are_added(tmp_path: Path) -> None:
    book, noise = book_with(tmp_path), (claim(GaussianNoise(4.0), relation=ADD),)
    for round_no in range(1, 11):
        book.reserve("r", round_no, "train", [ANN], noise)
    ten = life(book)[ANN]
    book.reserve("s", 1, "train", [ANN], noise)
    one = life(book)[ANN] - ten
    assert ten < 5 * one, "noise of one run is composed"
    (paid,) = book.totals()
    assert paid.life.delta == pytest.approx(2e-5), "deltas of runs add up"
    book.verify()


def test_on_a_sample_every_round_so_far_is_paid(tmp_path: Path) -> None:
    book, sampled = book_with(tmp_path), (claim(Sampled(GaussianNoise(1.5), 0.1), relation=ADD),)
    book.reserve("r", 5, "train", [ANN], sampled)
    late = life(book)[ANN]
    for round_no in range(1, 6):
        book.reserve("s", round_no, "train", [BOB], sampled)
    assert late == life(book)[BOB]
    book.reserve("r", 3, "train", [ANN], sampled)
    assert life(book)[ANN] == late, "round 3 was among those five"
    book.verify()


def test_what_has_no_epsilon_per_client_needs_permission(tmp_path: Path) -> None:
    bare = [
        (claim(Open()),),
        (claim(Pure(1.0), relation="replace one row"),),
        (claim(Pure(1.0)), claim(Pure(1.0), relation=ADD)),
    ]
    strict, lax = (
        book_with(tmp_path),
        book_with(
            tmp_path,
            Limits(max_epsilon_per_run=9, max_epsilon_lifetime=9, no_epsilon=True),
            name="lax",
        ),
    )
    for round_no, claims in enumerate(bare, 1):
        assert "no epsilon per client" in strict.reserve("r", round_no, "train", [ANN], claims)[ANN]
        assert lax.reserve("r", round_no, "train", [ANN], claims) == {}
    assert life(strict) == {}
    assert lax.totals()[0].life.bare
    assert life(lax)[ANN] > price(1), "what has a number is charged all the same"
    assert "no bound is proved" in lax.reserve("r", 9, "train", [ANN], (claim(Unproven()),))[ANN]
    lax.verify()


def test_an_answer_is_stored_once_and_sent_again_as_it_is(tmp_path: Path) -> None:
    book = book_with(tmp_path)
    assert book.find_response("r", 1, "train", ASK) is None
    book.reserve("r", 1, "train", [ANN], ONE)
    assert book.find_response("r", 1, "train", ASK) is None
    book.store("r", 1, "train", ASK, b"noisy")
    book.store("r", 1, "train", ASK, b"noisy")
    assert book_with(tmp_path).find_response("r", 1, "train", ASK) == b"noisy"
    with pytest.raises(RequestError, match="a different request was received before"):
        book.find_response("r", 1, "train", OTHER)
    for request, answer in ((ASK, b"fresh noise"), (OTHER, b"noisy")):
        with pytest.raises(RequestError, match="another response is stored already; send that one"):
            book.store("r", 1, "train", request, answer)
    assert [entry.kind for entry in book.entries()] == ["opened", "reserved", "stored"]


def test_a_forgotten_run_stays_charged_and_is_never_answered_again(tmp_path: Path) -> None:
    book = book_with(tmp_path)
    for run in ("r", "s"):
        book.reserve(run, 1, "train", [ANN], ONE)
        book.store(run, 1, "train", ASK, b"noisy")
    book.drop_responses("r")
    book.drop_responses("r")
    assert life(book) == {ANN: price(1, 1)}
    for ask in (
        lambda: book.find_response("r", 1, "train", ASK),
        lambda: book.reserve("r", 2, "train", [ANN], ONE),
    ):
        with pytest.raises(RequestError, match="has ended here"):
            ask()
    assert book.find_response("s", 1, "train", ASK) == b"noisy"
    book.verify()


def test_rounds_of_a_day_do_not_come_back_with_the_clock(tmp_path: Path) -> None:
    days = iter(["2026-11-16"] * 3 + ["2026-11-15"] + ["2026-11-17"] * 2)
    book = book_with(
        tmp_path,
        Limits(max_epsilon_per_run=100, max_epsilon_lifetime=100, max_rounds_per_day=2),
        lambda: next(days),
    )
    assert book.reserve("r", 1, "train", [ANN], ONE) == {}
    assert book.reserve("s", 1, "train", [ANN], ONE) == {}
    assert book.reserve("s", 1, "votes", [ANN], ONE) == {}, "the same round"
    yesterday = book.reserve("r", 2, "train", [ANN], ONE)
    assert (
        yesterday[ANN]
        == "limits.max_rounds_per_day = 2: this site already took part in 2 rounds on 2026-11-16"
    )
    assert book.reserve("r", 2, "train", [ANN], ONE) == {}, "the next day"
    book.verify()


def test_a_round_beyond_those_of_a_run_is_refused(tmp_path: Path) -> None:
    book = book_with(
        tmp_path, Limits(max_epsilon_per_run=100, max_epsilon_lifetime=100, max_rounds_per_run=5)
    )
    assert book.reserve("r", 6, "train", [ANN], ONE) == {
        ANN: "limits.max_rounds_per_run = 5: this is round 6"
    }
    with pytest.raises(ValueError, match="round must be from 0"):
        book.reserve("r", 2**40, "train", [ANN], ONE)


def test_what_costs_nothing_is_stored_too_and_is_no_round(tmp_path: Path) -> None:
    book = book_with(tmp_path, Limits(max_rounds_per_run=1, max_rounds_per_day=1))
    for round_no in range(4):
        assert book.reserve("r", round_no, "measure", [ANN, BOB], ()) == {}
        book.store("r", round_no, "measure", ASK, b"figures")
    assert life(book) == {ANN: 0, BOB: 0}
    book.verify()


def test_the_owner_decides_on_delta(tmp_path: Path) -> None:
    noise, limits = (
        (claim(GaussianNoise(2.0), relation=ADD),),
        Limits(max_epsilon_per_run=100, max_epsilon_lifetime=100, delta=1e-6),
    )
    greedy = SiteLedger(tmp_path / "greedy.db", limits=limits, delta=0.4)
    greedy.reserve("r", 1, "train", [ANN], noise)
    assert life(greedy)[ANN] == compute_cost(((noise, 1),), 1e-6).micro
    assert (
        "limits.delta = 1e-06 per run: with this response it is"
        in greedy.reserve("r", 2, "train", [BOB], (claim(Approximate(0.1, 0.4)),))[BOB]
    )


def test_every_commit_waits_for_the_disk(tmp_path: Path) -> None:
    """A kill does not show whether it does: what a process wrote outlives the process, but not a power cut."""
    with book_with(tmp_path)._disk.reading() as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_an_older_copy_and_another_ledger_are_recognised(tmp_path: Path) -> None:
    book = book_with(tmp_path)
    book.reserve("r", 1, "train", [ANN], ONE)
    old = book.receipt()
    with (
        sqlite3.connect(tmp_path / "copy.db") as copy,
        sqlite3.connect(tmp_path / "book.db") as source,
    ):
        source.backup(copy)
    book.reserve("r", 2, "train", [ANN], ONE)
    book.check_receipt(*old)
    book.check_receipt(*book.receipt())
    with pytest.raises(
        LedgerError, match="older than its last receipt: it has 2 entries, the receipt says 3"
    ):
        book_with(tmp_path, name="copy").check_receipt(*book.receipt())
    with pytest.raises(LedgerError, match="so this is a different ledger"):
        book.check_receipt(2, b"x" * 32)


def test_the_file_is_for_its_owner_only_and_pseudonyms_have_sixteen_bytes(tmp_path: Path) -> None:
    book = book_with(tmp_path)
    book.reserve("r", 1, "train", [ANN], (claim(Approximate(0.5, 1e-6)),))
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    with pytest.raises(ValueError, match="a pseudonym must have 16 bytes"):
        book.reserve("r", 2, "train", [b"Ann Example"], ONE)
