"""Sampled randomised response: the whole update is within its epsilon, and the audit of whole updates agrees."""

import math

import numpy as np
import pytest

from tacit import codec, plan
from tacit.audit.epsilon import lower_bound
from tacit.codec import rr_sampled
from tacit.draws import Draws
from tacit.ledger import losses
from tests.roles import encode


@pytest.mark.parametrize("epsilon", [0.1, 1, 2.2, 4, 8, 20, 100])
@pytest.mark.parametrize("dim", [1, 5, 506_451])
def test_the_claim_of_a_whole_update_is_within_epsilon(epsilon, dim) -> None:
    (claim,) = codec.build(plan.RRSampled(epsilon=epsilon, clip=1e-3)).claims(dim, 1)
    assert losses.pure(claim.event) <= epsilon * (1 + 1e-12)
    assert claim.event.count == rr_sampled.bits_for(epsilon, dim)


def test_the_number_of_bits_is_the_one_that_minimises_the_error() -> None:
    dim, clip = 5001, 1.0
    for epsilon in (4, 8, 30):
        chosen = rr_sampled.bits_for(epsilon, dim)
        error = {k: dim * dim / k * clip**2 / math.tanh(epsilon / k / 2) ** 2 for k in range(1, 60)}
        assert error[chosen] <= min(error.values()) * 1.03


def payloads(made: codec.Codec, value: float, times: int) -> np.ndarray:
    """Return the payloads of many messages of one update of 6 equal coordinates.

    In the worst case both sides know which coordinates are sent, so the public randomness is the same for all.
    """
    update, own, public = np.full(6, value, np.float32), Draws.from_system(), Draws.seeded(0)
    return np.array([encode(made, update, own.at(n), public).payload[0] for n in range(times)])


def test_measured_epsilon_of_a_whole_update_is_below_the_claim_and_tight() -> None:
    """Two opposite updates; the output is the whole payload. A sound codec fails with a chance of about 2e-6.

    At most 1e-6 of it is the bound's own. For the other half: both bits flip with a chance of .0142, about 426 times in 30,000,
    of which the bound takes 5.3 deviations, .25 of 4; the .15 left are 3.1 deviations, and both directions would have to miss.
    """
    made = codec.build(plan.RRSampled(epsilon=4.0, clip=1e-3))
    claimed = losses.pure(made.claims(6, 1)[0].event)
    bound = lower_bound(*(payloads(made, value, 30_000) for value in (1e-3, -1e-3)))
    assert 0.9 * claimed <= bound <= claimed


def test_a_twin_that_reports_twice_the_bits_is_caught() -> None:
    """All four bits flip about once in 5,000 messages; the twin would go free only if they did more than 20 times."""
    honest = codec.build(plan.RRSampled(epsilon=4.0, clip=1e-3))
    twin = codec.build(plan.RRSampled(epsilon=8.0, clip=1e-3))  # four bits where two were paid for
    bound = lower_bound(*(payloads(twin, value, 5_000) for value in (1e-3, -1e-3)))
    assert bound > losses.pure(honest.claims(6, 1)[0].event)
