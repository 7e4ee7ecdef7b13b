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
    assert ledgers.charge(EVERYBODY, NOISE, 1) == {}
    assert ledgers.charge(EVERYBODY, NOISE, 1) == {}  # the same request again
    assert set(ledgers.charge(np.array([0, 2]), NOISE, 3)) == {0, 2}
    assert ledgers.charge(np.array([0]), NOISE, 4) == {}
    assert "allows responses in 2 rounds" in ledgers.charge(np.array([0]), NOISE, 9)[0]
    assert ledgers.charge(np.array([1]), NOISE, 9) == {}


def test_no_answer_beyond_a_total_epsilon() -> None:
    ledgers = ClientLedgers(plan.Ledger(epsilon=2.5), 3, 1e-5)
    one, other = (claim(Pure(1.0)),), (claim(Pure(0.9), mechanism="another"),)
    assert ledgers.charge(EVERYBODY, one, 1) == {}
    assert ledgers.charge(np.array([0]), one, 2) == {}
    assert ledgers.charge(np.array([1]), other, 2) == {}
    refused = ledgers.charge(EVERYBODY, one, 3)
    assert set(refused) == {0, 1}
    assert refused[0].endswith("allows epsilon 2.5 per run, and this response would make it 3")
    assert set(ledgers.charge(EVERYBODY, (claim(Open()),), 4)) == {0, 1, 2}


def test_on_a_sample_every_round_is_paid() -> None:
    ledgers = ClientLedgers(plan.Ledger(epsilon=1.0), 3, 1e-5)
    sampled = (claim(Sampled(GaussianNoise(1.5), 0.1), relation=ADD),)
    assert ledgers.charge(np.array([0]), sampled, 1) == {}
    assert set(ledgers.charge(np.array([1]), sampled, 60)) == {1}


def test_what_was_paid_is_on_the_disk(tmp_path: Path) -> None:
    file, limits = tmp_path / "ledger.safetensors", plan.Ledger(participations=1, epsilon=5.0)
    assert ClientLedgers(limits, 3, 1e-5, file).charge(np.array([1]), NOISE, 1) == {}
    again = ClientLedgers(limits, 3, 1e-5, file)
    assert set(again.charge(EVERYBODY, NOISE, 2)) == {1}
    again.reset()
    assert ClientLedgers(limits, 3, 1e-5, file).charge(EVERYBODY, NOISE, 3) == {}


def test_what_is_refused_is_said_in_words() -> None:
    ledgers = ClientLedgers(plan.Ledger(participations=2, separation=3), 3, 1e-5)
    ledgers.charge(np.array([0]), NOISE, 5)
    soon = "its own ledger requires 3 rounds between responses, and it responded in round 5"
    assert ledgers.charge(EVERYBODY, NOISE, 7) == {0: soon}
    assert ledgers.charge(np.array([0]), NOISE, 8) == {}
    assert ledgers.charge(np.array([0]), NOISE, 11) == {
        0: "its own ledger allows responses in 2 rounds, and it has used them"
    }
    assert ledgers.rounds.times.tolist() == [2, 1, 1]
    assert ledgers.rounds.last.tolist() == [8, 7, 7]
    assert (ledgers.rounds.times.dtype, ledgers.rounds.last.dtype) == (np.int64, np.int64)


def test_what_has_no_number_is_said_in_words() -> None:
    ledgers = ClientLedgers(plan.Ledger(epsilon=1.0), 3, 1e-5)
    said = "its own ledger limits epsilon per run, and no epsilon exists for the requested response"
    assert ledgers.charge(np.array([1]), (claim(Open()),), 1) == {1: said}
    assert ledgers.charge(np.array([1]), (claim(Approximate(0.75, 1e-9)),), 1) == {}
    assert ledgers.charge(np.array([1]), (claim(Approximate(0.25, 1e-9)),), 1) == {}, (
        "just as much as it allows"
    )
    again = ledgers.charge(np.array([1]), (claim(Approximate(0.25, 1e-9)),), 2)
    assert again == {
        1: "its own ledger allows epsilon 1 per run, and this response would make it 1.25"
    }
    assert ledgers.charge(np.array([1]), (claim(Approximate(0.25, 1e-9)),), 1) == {}, (
        "the same round again"
    )


def test_without_limits_nothing_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "ledger.safetensors"
    ledgers = ClientLedgers(plan.Ledger(), 3, 1e-5, file)
    assert ledgers.charge(EVERYBODY, NOISE, 1) == {}
    limited = ClientLedgers(plan.Ledger(epsilon=1.0), 3, 1e-5, file)
    assert limited.charge(EVERYBODY, (), 1) == {}
    assert (ledgers.charged, limited.charged, file.exists()) == ({}, {}, False)


def test_a_ledger_is_read_as_it_was_written(tmp_path: Path) -> None:
    file, limits = (
        tmp_path / "own" / "run" / "ledger.safetensors",
        plan.Ledger(participations=5, separation=1, epsilon=9.0),
    )
    other = (claim(Pure(0.1)), claim(Pure(0.2)))
    first = ClientLedgers(limits, 3, 1e-5, file)
    first.charge(np.array([0, 2]), other, 1)
    first.charge(np.array([2]), other, 2)
    first.charge(np.array([1]), (claim(Pure(0.5)),), 3)
    again = ClientLedgers(limits, 3, 1e-5, file)
    assert list(again.charged) == [other, (claim(Pure(0.5)),)]
    for one, two in zip(
        [first.rounds, *first.charged.values()],
        [again.rounds, *again.charged.values()],
        strict=True,
    ):
        assert (one.times.tolist(), one.last.tolist()) == (two.times.tolist(), two.last.tolist())
    assert (again.rounds.times.tolist(), again.rounds.last.tolist()) == ([1, 1, 2], [1, 3, 2])
    assert (again.charged[other].times.tolist(), again.charged[other].last.tolist()) == (
        [1, 0, 2],
        [1, 0, 2],
    )
    _, facts = unseal(file)
    assert "claims" in facts
    again.charge(np.array([2]), other, 4)
    again.reset()
    assert (again.charged, again.rounds.times.tolist(), file.exists()) == ({}, [0, 0, 0], False)
    again.reset()
    ClientLedgers(limits, 3, 1e-5).reset()
