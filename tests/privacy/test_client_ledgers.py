"""A client's own ledger: how often, how far apart, how much; and the same question twice costs once."""

from pathlib import Path

import numpy as np

from tacit import plan
from tacit.files import unseal
from tacit.privacy.claim import Approximate, GaussianNoise, Open, Pure, Sampled
from tacit.privacy.ledger.client_ledgers import ClientLedgers
from tests.privacy.claims import ADD, claim

NOISE = (claim(GaussianNoise(4.0), relation=ADD),)
EVERYBODY = np.arange(3)


def test_answers_too_soon_or_too_often_are_refused() -> None:
    ledgers = ClientLedgers(plan.Ledger(participations=2, separation=3), 3, 1e-5)
    assert ledgers.refusals(EVERYBODY, NOISE, 1) == {}
    assert ledgers.refusals(EVERYBODY, NOISE, 1) == {}  # the same question again
    assert set(ledgers.refusals(np.array([0, 2]), NOISE, 3)) == {0, 2}
    assert ledgers.refusals(np.array([0]), NOISE, 4) == {}
    assert "lets it answer in 2 rounds" in ledgers.refusals(np.array([0]), NOISE, 9)[0]
    assert ledgers.refusals(np.array([1]), NOISE, 9) == {}


def test_no_answer_beyond_a_total_epsilon() -> None:
    ledgers = ClientLedgers(plan.Ledger(epsilon=2.5), 3, 1e-5)
    one, other = (claim(Pure(1.0)),), (claim(Pure(0.9), mechanism="another"),)
    assert ledgers.refusals(EVERYBODY, one, 1) == {}
    assert ledgers.refusals(np.array([0]), one, 2) == {}
    assert ledgers.refusals(np.array([1]), other, 2) == {}
    refused = ledgers.refusals(EVERYBODY, one, 3)
    assert set(refused) == {0, 1}
    assert refused[0].endswith("allows an epsilon of 2.5 per run, and this answer makes it 3")
    assert set(ledgers.refusals(EVERYBODY, (claim(Open()),), 4)) == {0, 1, 2}


def test_on_a_sample_every_round_is_paid() -> None:
    ledgers = ClientLedgers(plan.Ledger(epsilon=1.0), 3, 1e-5)
    sampled = (claim(Sampled(GaussianNoise(1.5), 0.1), relation=ADD),)
    assert ledgers.refusals(np.array([0]), sampled, 1) == {}
    assert set(ledgers.refusals(np.array([1]), sampled, 60)) == {1}


def test_what_was_paid_is_on_the_disk(tmp_path: Path) -> None:
    file, limits = tmp_path / "ledger.safetensors", plan.Ledger(participations=1, epsilon=5.0)
    assert ClientLedgers(limits, 3, 1e-5, file).refusals(np.array([1]), NOISE, 1) == {}
    again = ClientLedgers(limits, 3, 1e-5, file)
    assert set(again.refusals(EVERYBODY, NOISE, 2)) == {1}
    again.forget()
    assert ClientLedgers(limits, 3, 1e-5, file).refusals(EVERYBODY, NOISE, 3) == {}


def test_what_is_refused_is_said_in_words() -> None:
    ledgers = ClientLedgers(plan.Ledger(participations=2, separation=3), 3, 1e-5)
    ledgers.refusals(np.array([0]), NOISE, 5)
    soon = "its own ledger needs 3 rounds from one answer to the next, and it answered in round 5"
    assert ledgers.refusals(EVERYBODY, NOISE, 7) == {0: soon}
    assert ledgers.refusals(np.array([0]), NOISE, 8) == {}
    assert ledgers.refusals(np.array([0]), NOISE, 11) == {
        0: "its own ledger lets it answer in 2 rounds, and it has"
    }
    assert ledgers.rounds.times.tolist() == [2, 1, 1]
    assert ledgers.rounds.last.tolist() == [8, 7, 7]
    assert (ledgers.rounds.times.dtype, ledgers.rounds.last.dtype) == (np.int64, np.int64)


def test_what_has_no_number_is_said_in_words() -> None:
    ledgers = ClientLedgers(plan.Ledger(epsilon=1.0), 3, 1e-5)
    said = "its own ledger allows a total epsilon per run, and what is asked of it has none"
    assert ledgers.refusals(np.array([1]), (claim(Open()),), 1) == {1: said}
    assert ledgers.refusals(np.array([1]), (claim(Approximate(0.75, 1e-9)),), 1) == {}
    assert ledgers.refusals(np.array([1]), (claim(Approximate(0.25, 1e-9)),), 1) == {}, (
        "just as much as it allows"
    )
    again = ledgers.refusals(np.array([1]), (claim(Approximate(0.25, 1e-9)),), 2)
    assert again == {
        1: "its own ledger allows an epsilon of 1 per run, and this answer makes it 1.25"
    }
    assert ledgers.refusals(np.array([1]), (claim(Approximate(0.25, 1e-9)),), 1) == {}, (
        "the same round again"
    )


def test_without_limits_nothing_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "ledger.safetensors"
    ledgers = ClientLedgers(plan.Ledger(), 3, 1e-5, file)
    assert ledgers.refusals(EVERYBODY, NOISE, 1) == {}
    limited = ClientLedgers(plan.Ledger(epsilon=1.0), 3, 1e-5, file)
    assert limited.refusals(EVERYBODY, (), 1) == {}
    assert (ledgers.paid, limited.paid, file.exists()) == ({}, {}, False)


def test_a_ledger_is_read_as_it_was_written(tmp_path: Path) -> None:
    file, limits = (
        tmp_path / "own" / "run" / "ledger.safetensors",
        plan.Ledger(participations=5, separation=1, epsilon=9.0),
    )
    other = (claim(Pure(0.1)), claim(Pure(0.2)))
    first = ClientLedgers(limits, 3, 1e-5, file)
    first.refusals(np.array([0, 2]), other, 1)
    first.refusals(np.array([2]), other, 2)
    first.refusals(np.array([1]), (claim(Pure(0.5)),), 3)
    again = ClientLedgers(limits, 3, 1e-5, file)
    assert list(again.paid) == [other, (claim(Pure(0.5)),)]
    for one, two in zip(
        [first.rounds, *first.paid.values()], [again.rounds, *again.paid.values()], strict=True
    ):
        assert (one.times.tolist(), one.last.tolist()) == (two.times.tolist(), two.last.tolist())
    assert (again.rounds.times.tolist(), again.rounds.last.tolist()) == ([1, 1, 2], [1, 3, 2])
    assert (again.paid[other].times.tolist(), again.paid[other].last.tolist()) == (
        [1, 0, 2],
        [1, 0, 2],
    )
    _, facts = unseal(file)
    assert "claims" in facts
    again.refusals(np.array([2]), other, 4)
    again.forget()
    assert (again.paid, again.rounds.times.tolist(), file.exists()) == ({}, [0, 0, 0], False)
    again.forget()
    ClientLedgers(limits, 3, 1e-5).forget()
