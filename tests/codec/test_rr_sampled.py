"""Sampled randomised response: the whole update is within its epsilon, and the audit of whole updates agrees."""

import math

import numpy as np
import pytest

from tacit import codec, plan
from tacit.audit.epsilon import lower_bound
from tacit.codec import rr_sampled
from tacit.draws import Draws
from tacit.ledger import losses


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


def test_measured_epsilon_of_a_whole_update_is_below_the_claim_and_tight() -> None:
    """Two opposite updates of 6 coordinates, 200,000 messages each; the output is the whole payload."""
    settings = plan.RRSampled(epsilon=4.0, clip=1e-3)
    made, times = codec.build(settings), 200_000
    public = Draws.seeded(0)  # the worst case: both sides know which coordinates are sent
    sides = []
    for value in (1e-3, -1e-3):
        words = np.full(6, value, np.float32)
        own = Draws.from_system()
        sides.append(np.array([made.encode(words, {}, own.at(n), public).payload[0] for n in range(times)]))
    bound = lower_bound(*sides)
    assert bound <= losses.pure(made.claims(6, 1)[0].event)
    assert bound >= 0.9 * losses.pure(made.claims(6, 1)[0].event)


def test_a_twin_that_reports_twice_the_bits_is_caught() -> None:
    honest = codec.build(plan.RRSampled(epsilon=4.0, clip=1e-3))
    twin = codec.build(plan.RRSampled(epsilon=8.0, clip=1e-3))  # four bits where two were paid for
    own, times, sides = Draws.from_system(), 100_000, []
    for value in (1e-3, -1e-3):
        sides.append(
            np.array(
                [
                    twin.encode(np.full(6, value, np.float32), {}, own.at(value > 0, n), Draws.seeded(0)).payload[0]
                    for n in range(times)
                ]
            )
        )
    assert lower_bound(*sides) > losses.pure(honest.claims(6, 1)[0].event)
