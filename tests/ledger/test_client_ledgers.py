"""A client's own ledger: how often, how far apart, how much; and the same question twice costs once."""

from pathlib import Path

import numpy as np

from tacit import plan
from tacit.claim import Gaussian, Open, Pure, Sampled
from tacit.ledger.client_ledgers import ClientLedgers
from tests.ledger.claims import ADD, claim

NOISE = (claim(Gaussian(4.0), relation=ADD),)
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
    sampled = (claim(Sampled(Gaussian(1.5), 0.1), relation=ADD),)
    assert ledgers.refusals(np.array([0]), sampled, 1) == {}
    assert set(ledgers.refusals(np.array([1]), sampled, 60)) == {1}


def test_what_was_paid_is_on_the_disk(tmp_path: Path) -> None:
    file, limits = tmp_path / "ledger.safetensors", plan.Ledger(participations=1, epsilon=5.0)
    assert ClientLedgers(limits, 3, 1e-5, file).refusals(np.array([1]), NOISE, 1) == {}
    again = ClientLedgers(limits, 3, 1e-5, file)
    assert set(again.refusals(EVERYBODY, NOISE, 2)) == {1}
    again.forget()
    assert ClientLedgers(limits, 3, 1e-5, file).refusals(EVERYBODY, NOISE, 3) == {}
