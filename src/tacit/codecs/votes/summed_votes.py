"""A tester's votes of a round as one vector under a secure sum: +1 helped, -1 harmed, 0 not asked.

Helpers add Gaussian noise to the sum. A tester with V votes has a vector of length √V, so one noise
covers all of them together, and its epsilon is for all votes of a round: they need not share it out
among themselves.
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
    """Return the codec for vectors with a place for each client; decoding gives the sum of all
    testers' votes.
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
    """Return the most votes a tester can have in a round."""
    return max(1, clients - 1 if settings.testers is None else min(settings.testers, clients - 1))


def build_vote_vector(said: NDArray[np.bool_], on: NDArray[np.int64], clients: int) -> Vector:
    """Return votes on some clients as a vector with a place for each."""
    vector = np.zeros(clients, np.float32)
    vector[on] = np.where(said, 1.0, -1.0)
    return vector


def _claim(of_sum: Claim, votes: int, helpers: int) -> Claim:
    """Return the claim of a sum as one about votes; the sum itself is for the server alone, others
    see who is rejected.
    """
    noise = of_sum.mechanism.partition(", to whose sum ")[2]
    trust = (
        f"that the server and {'its helper' if helpers == 1 else 'all its helpers'} do not work"
        " together"
    )
    mechanism = f"one vector of {votes:,} votes, to whose sum {noise}"
    source = (
        "Balle and Wang 2018, analytic calibration for one round; noise in whole steps on an"
        " exact sum"
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
