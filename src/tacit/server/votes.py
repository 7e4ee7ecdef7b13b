"""Combine votes into scores, and reject contributors by score.

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
"""Two groups of scores count as separate if their middles are at least this many standard errors
apart.
"""


@dataclass(frozen=True, kw_only=True)
class Ballots:
    """Votes about each contributor: sums over its testers of f times the vote, of f² and of f⁴, and
    their number.

    `noise` is the variance of the noise that secure aggregation added to the sum of votes.
    """

    votes: Numbers
    squares: Numbers
    fourths: Numbers
    count: Numbers
    noise: Numbers | float = 0.0

    @staticmethod
    def none(contributors: int) -> Ballots:
        """No votes about `contributors` contributors."""
        return Ballots(
            **{
                name: np.zeros(contributors)
                for name in ("votes", "squares", "fourths", "count", "noise")
            }
        )

    def plus(self, other: Ballots, memory: float = 1.0) -> Ballots:
        """Add other votes to these, which are weighted by `memory`."""
        return Ballots(
            votes=memory * self.votes + other.votes,
            squares=memory * self.squares + other.squares,
            fourths=memory * self.fourths + other.fourths,
            count=memory * self.count + other.count,
            noise=memory**2 * self.noise + other.noise,
        )

    def scores(self) -> Numbers:
        """The debiased mean vote on each contributor; 0 without votes."""
        return np.divide(
            self.votes, self.squares, out=np.zeros_like(self.votes), where=self.squares > 0
        )

    def errors(self) -> Numbers:
        """The standard error of each score; infinite without votes."""
        spread = self.squares - self.fourths * np.clip(self.scores(), -1, 1) ** 2 + self.noise
        out = np.full_like(self.votes, np.inf)
        return np.divide(
            np.sqrt(np.maximum(spread, 0)), self.squares, out=out, where=self.squares > 0
        )


class Decision(NamedTuple):
    """The rejected contributors, and the threshold."""

    rejected: NDArray[np.bool_]
    threshold: float


def decide(settings: Filter, ballots: Ballots) -> Decision:
    """Reject contributors below the threshold, at most the allowed share, lowest scores first.

    A score equal to the threshold is accepted, and so is a contributor without votes.
    """
    scores, threshold = ballots.scores(), choose_threshold(settings, ballots)
    rejected = (ballots.squares > 0) & (scores < threshold)
    return Decision(limit_rejected(settings, rejected, scores), threshold)


def choose_threshold(settings: Filter, ballots: Ballots) -> float:
    """The score below which the plan's rule rejects."""
    match settings.rule:
        case "zero":
            return 0.0
        case "self_tuned":
            voted = ballots.squares > 0
            return tune_threshold(ballots.scores()[voted], ballots.errors()[voted])
        case _:
            assert_never(settings.rule)


def limit_rejected(
    settings: Filter, rejected: NDArray[np.bool_], scores: Numbers
) -> NDArray[np.bool_]:
    """Of the rejected, those with the lowest scores, at most the share that the plan allows."""
    most = int(settings.max_rejected * len(scores) + 1e-9)
    if rejected.sum() <= most:
        return rejected
    kept = np.argsort(np.where(rejected, scores, np.inf), kind="stable")[most:]
    limited = rejected.copy()
    limited[kept] = False
    return limited


def tune_threshold(scores: Numbers, errors: Numbers) -> float:
    """The mid-point between two groups of scores if they are clearly separated and the lower is the
    outlier, else 0.

    The groups are those of one-dimensional 2-means, found exactly: of all cuts of the sorted
    scores, the one with the least squared distance. Clearly separated: the gap between their means
    exceeds three standard errors of a score. The lower group is the outlier if its mean is below
    the median by more than half the gap.
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


def assign_testers(
    cohort: NDArray[np.int64], testers: int | None, random: np.random.Generator
) -> NDArray[np.int64]:
    """Assign to each member of the cohort the clients it votes on, one row each: all others, or
    `testers` of them by public randomness.

    The cohort is arranged in a random circle and each member votes on those after it, so every
    contributor has the same number of testers and every tester the same number of votes.
    """
    size = len(cohort)
    count = size - 1 if testers is None else min(testers, size - 1)
    circle = random.permutation(size)
    place = np.argsort(circle)
    ahead = (place[:, None] + np.arange(1, count + 1)[None, :]) % size
    return np.sort(cohort[circle[ahead]], axis=1)
