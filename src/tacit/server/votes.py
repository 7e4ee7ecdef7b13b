"""Votes become scores, and scores decide who is averaged.

A tester whose votes are kept with factor f = 1 - p (f = 1 without noise) adds f times its vote, so
that noisier votes weigh less; the score is the sum divided by the sum of f². Whatever the testers'
factors are, its expectation is the mean of their true votes, between -1 (all say the contributor
harms) and 1 (all say it helps). Source: the rule at zero is Rokvic et al.'s; the self-tuned one
replaces their data-driven threshold, which is not described.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from tacit.plan import Filter

Numbers = NDArray[np.float64]
_GAP = 3.0
"""Two groups of scores are told apart if their middles are at least this many standard errors
apart.
"""


@dataclass(frozen=True, kw_only=True)
class Ballots:
    """What was said about each contributor: sums over its testers of f times the vote, of f² and of
    f⁴, and their number.

    `noise` is the variance of what was added to the sum of votes, where a secure sum did.
    """

    votes: Numbers
    squares: Numbers
    fourths: Numbers
    count: Numbers
    noise: Numbers | float = 0.0

    @staticmethod
    def none(contributors: int) -> Ballots:
        """Return no votes about so many contributors."""
        return Ballots(
            **{
                name: np.zeros(contributors)
                for name in ("votes", "squares", "fourths", "count", "noise")
            }
        )

    def plus(self, other: Ballots, memory: float = 1.0) -> Ballots:
        """Return these votes, weighed by `memory`, with others."""
        return Ballots(
            votes=memory * self.votes + other.votes,
            squares=memory * self.squares + other.squares,
            fourths=memory * self.fourths + other.fourths,
            count=memory * self.count + other.count,
            noise=memory**2 * self.noise + other.noise,
        )

    def scores(self) -> Numbers:
        """Return the debiased mean vote on each contributor; 0 without votes."""
        return np.divide(
            self.votes, self.squares, out=np.zeros_like(self.votes), where=self.squares > 0
        )

    def errors(self) -> Numbers:
        """Return the standard error of each score; infinite without votes."""
        spread = self.squares - self.fourths * np.clip(self.scores(), -1, 1) ** 2 + self.noise
        out = np.full_like(self.votes, np.inf)
        return np.divide(
            np.sqrt(np.maximum(spread, 0)), self.squares, out=out, where=self.squares > 0
        )


class Decision(NamedTuple):
    """Who is rejected, and below which score."""

    rejected: NDArray[np.bool_]
    threshold: float


def decide(settings: Filter, ballots: Ballots) -> Decision:
    """Return who is rejected: below the threshold, and of these at most the allowed share, lowest
    scores first.

    A score of exactly the threshold is accepted, and so is a contributor nobody voted on.
    """
    scores, voted = ballots.scores(), ballots.squares > 0
    match settings.rule:
        case "zero":
            threshold = 0.0
        case "self_tuned":
            threshold = self_tuned(scores[voted], ballots.errors()[voted])
        case _:
            assert_never(settings.rule)
    rejected = voted & (scores < threshold)
    most = int(settings.max_rejected * len(scores) + 1e-9)
    if rejected.sum() > most:
        kept = np.argsort(np.where(rejected, scores, np.inf), kind="stable")[most:]
        rejected[kept] = False
    return Decision(rejected, threshold)


def self_tuned(scores: Numbers, errors: Numbers) -> float:
    """Return the middle between two groups of scores if they lie clearly apart and the lower is the
    odd one out, else 0.

    The groups are those of one-dimensional 2-means, found exactly: of all cuts of the sorted
    scores, the one that leaves the least squared distance. Clearly apart: the gap between their
    means exceeds three standard errors of a score. The lower one is the odd one out if its mean is
    below the median by more than half the gap.
    """
    if len(scores) < 2:
        return 0.0
    order = np.sort(scores)
    sizes = np.arange(1, len(order))
    low = np.cumsum(order)[:-1]
    high = order.sum() - low
    cut = int(np.argmax(low**2 / sizes + high**2 / (len(order) - sizes)))
    means = low[cut] / sizes[cut], high[cut] / (len(order) - sizes[cut])
    gap = means[1] - means[0]
    typical = float(np.median(errors[np.isfinite(errors)])) if np.isfinite(errors).any() else np.inf
    if gap <= _GAP * typical or means[0] >= np.median(order) - gap / 2:
        return 0.0
    return float((means[0] + means[1]) / 2)


def assigned(
    cohort: NDArray[np.int64], testers: int | None, random: np.random.Generator
) -> NDArray[np.int64]:
    """Return whom each member of the cohort votes on, a line of names each: everybody else, or so
    many by public randomness.

    The cohort stands in a random circle and each votes on those after it, so every contributor has
    the same number of testers and every tester the same number of votes.
    """
    size = len(cohort)
    count = size - 1 if testers is None else min(testers, size - 1)
    circle = random.permutation(size)
    place = np.argsort(circle)
    ahead = (place[:, None] + np.arange(1, count + 1)[None, :]) % size
    return np.sort(cohort[circle[ahead]], axis=1)
