"""A tester's votes of a round as one vector under secure aggregation: +1 helped, -1 harmed, 0 not
asked.

Helpers add Gaussian noise to the sum. A tester with V votes has a vector of L2 norm √V, so one
noise covers all of them together. Its epsilon is for all votes of a round, which need not divide
it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.codecs.contract import Codec, Extent
from tacit.codecs.dp_sum import build_noisy_sum
from tacit.codecs.stages.chain import chain
from tacit.codecs.stages.clip import clip_l2
from tacit.codecs.stages.integer_updates import Loss
from tacit.privacy.claim import Claim
from tacit.rows import Vector


def make(settings: plan.Filter, clients: int, helpers: int) -> Codec:
    """Build the codec for vectors with one entry per client; decoding gives the sum of all testers'
    votes.
    """
    assert settings.votes_epsilon is not None
    loss, votes = (
        Loss(epsilon=settings.votes_epsilon, delta=settings.delta),
        count_votes_each(settings, clients),
    )
    extent = Extent(rounds=1, cohort=1, helpers=helpers, clients=clients)
    made = chain(clip_l2(math.sqrt(votes)), last=build_noisy_sum(loss, extent))
    return replace(
        made,
        claims=lambda dim, cohort: tuple(
            _claim(one, votes, helpers) for one in made.claims(dim, cohort)
        ),
    )


def count_votes_each(settings: plan.Filter, clients: int) -> int:
    """Largest number of votes of a tester in a round."""
    return max(1, clients - 1 if settings.testers is None else min(settings.testers, clients - 1))


def build_vote_vector(said: NDArray[np.bool_], on: NDArray[np.int64], clients: int) -> Vector:
    """Build a vector with one entry per client from votes on some clients."""
    vector = np.zeros(clients, np.float32)
    vector[on] = np.where(said, 1.0, -1.0)
    return vector


def _claim(of_sum: Claim, votes: int, helpers: int) -> Claim:
    """Turn the claim of a sum into one about votes. Only the server sees the sum; others see who is
    rejected.
    """
    noise = of_sum.mechanism.partition("; ")[2]
    trust = (
        f"that the server and {'its helper' if helpers == 1 else 'all its helpers'} do not collude"
    )
    mechanism = f"one vector of {votes:,} votes; {noise}"
    source = (
        "Balle and Wang 2018, analytic calibration for one round; integer noise on an exact sum"
    )
    return replace(
        of_sum,
        mechanism=mechanism,
        unit="vote",
        view="server",
        trust=(trust,),
        rests_on="helpers",
        source=source,
    )
