"""Sampled randomised response: the whole update is within its epsilon, and the audit of whole updates agrees."""

import math

import numpy as np
import pytest

from tacit import codecs, plan
from tacit.audit.epsilon import lower_bound
from tacit.codecs import rr_sampled
from tacit.codecs.rr import WORD, compute_flips
from tacit.privacy.accounting import losses
from tacit.randomness import Draws
from tests import seeds
from tests.measured import least_bound
from tests.roles import encode


@pytest.mark.parametrize("epsilon", [0.1, 1, 2.2, 4, 8, 20, 100])
@pytest.mark.parametrize("dim", [1, 5, 506_451])
def test_the_claim_of_a_whole_update_is_within_epsilon(epsilon, dim) -> None:
    (claim,) = codecs.build(plan.RRSampled(epsilon=epsilon, clip=1e-3)).claims(dim, 1)
    assert losses.compute_pure_epsilon(claim.event) <= epsilon * (1 + 1e-12)
    assert claim.event.count == rr_sampled.choose_bit_count(epsilon, dim)


def test_the_number_of_bits_is_the_one_that_minimises_the_error() -> None:
    dim, clip = 5001, 1.0
    for epsilon in (4, 8, 30):
        chosen = rr_sampled.choose_bit_count(epsilon, dim)
        error = {k: dim * dim / k * clip**2 / math.tanh(epsilon / k / 2) ** 2 for k in range(1, 60)}
        assert error[chosen] <= min(error.values()) * 1.03


def payloads(made: codecs.Codec, value: float, times: int, place: int) -> np.ndarray:
    """Return the payloads of many messages of one update of 6 equal coordinates.

    In the worst case both sides know which coordinates are sent, so the public randomness is the same for all.
    """
    update, own, public = np.full(6, value, np.float32), seeds.draws(place), Draws.seeded(0)
    return np.array([encode(made, update, own.at(n), public).payload[0] for n in range(times)])


def audit(settings: plan.RRSampled, times: int) -> tuple[float, float]:
    """Return what an audit of two opposite updates finds at least, and the lower bound on epsilon it finds.

    The output is the whole payload; the event is that no bit is flipped, which on the other side means that all are.
    """
    made, bits = codecs.build(settings), rr_sampled.choose_bit_count(settings.epsilon, 6)
    flipped = compute_flips(settings.epsilon / bits) / WORD
    sides = (payloads(made, value, times, place) for place, value in enumerate((1e-3, -1e-3)))
    return least_bound((1 - flipped) ** bits, flipped**bits, times, events=2**bits), lower_bound(
        *sides
    )


@pytest.mark.statistical
def test_measured_epsilon_of_a_whole_update_is_below_the_claim_and_tight() -> None:
    """30,000 messages on each side; it finds too much with a probability of at most 1e-6, too little with 5e-7."""
    settings = plan.RRSampled(epsilon=4.0, clip=1e-3)
    claimed = losses.compute_pure_epsilon(codecs.build(settings).claims(6, 1)[0].event)
    least, found = audit(settings, 30_000)
    assert 0.85 * claimed <= least <= found <= claimed


@pytest.mark.statistical
def test_a_twin_that_reports_twice_the_bits_is_caught() -> None:
    """Four bits where two were paid for; missed with a probability of 5e-7."""
    honest = codecs.build(plan.RRSampled(epsilon=4.0, clip=1e-3))
    least, found = audit(plan.RRSampled(epsilon=8.0, clip=1e-3), 5_000)
    assert losses.compute_pure_epsilon(honest.claims(6, 1)[0].event) < least <= found
