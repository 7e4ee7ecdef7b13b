"""Empirical epsilon of one run, from the scores of canaries of which a random half took part.

The estimate assumes Gaussian scores, as those of a sum of many are: it is close and proves nothing.
The two bounds count how often the most extreme scores show who took part, with a number of guesses
fixed in advance. They hold with 95 % confidence for any scores. One assumes only that the claim is
(epsilon, delta); the other that the mechanism is Gaussian noise, and is therefore tighter. Each
comes with its average for noise of exactly the claimed size, and with the largest value that this
number of canaries can show.

Source: Andrew et al. 2024, *One-shot empirical privacy estimation*; Steinke, Nasr and Jagielski
2023, theorem 5.2; Mahloujifar, Melis and Chaudhuri 2024, *Auditing f-differential privacy in one
run*, algorithm 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier, compute_epsilon
from tacit.privacy.statement.prose import format_bound, format_unit

RISK = 0.05
"""Probability that a lower bound is too high."""
GUESSED = 0.1
"""Fraction of the canaries that are guessed: half of them have the highest scores, half the lowest.
"""
_LARGEST = 60.0
_SURE = 3.09
"""Standard errors by which an estimate must exceed the claim to be flagged: one false alarm in a
thousand.
"""


@dataclass(frozen=True, kw_only=True)
class AuditFigure:
    """One number of an audit. `at_claim` is its average under the claimed noise, `ceiling` its
    largest possible value.
    """

    name: str
    epsilon: float
    at_claim: float
    ceiling: float | None
    proved: bool


@dataclass(frozen=True, kw_only=True)
class OneRunAudit:
    """What the canaries of one run show about its claim."""

    canaries: int
    guesses: int
    right: int
    claimed: float
    delta: float
    shown: tuple[AuditFigure, ...]
    flagged: bool

    @property
    def sentences(self) -> list[str]:
        """The findings in words."""
        claimed = f"epsilon {format_bound(self.claimed)} {format_unit('run', self.delta)}"
        verdict = (
            f"This run reveals more than it claims: {claimed}. Its noise is too small, or its"
            " updates exceed the clipping norm."
            if self.flagged
            else f"Nothing contradicts the claim of {claimed}."
        )
        return [
            verdict,
            (
                f"A random half of {self.canaries:,} canaries took part. Of {self.guesses:,} guesses"
                f" about who did, {self.right:,} were right. The bounds hold with 95 % confidence;"
                " the estimate proves nothing."
            ),
        ]


def audit_scores(
    scores: NDArray[np.float64], inside: NDArray[np.bool_], claimed: float, delta: float
) -> OneRunAudit:
    """Compare scores with a claimed epsilon per run at `delta`; `inside` marks the canaries that
    took part.
    """
    count, each = len(scores), max(1, round(len(scores) * GUESSED / 2))
    order = np.argsort(scores, kind="stable")
    right = int(inside[order[-each:]].sum() + (~inside[order[:each]]).sum())
    apart, error = _measure_separation(scores, inside)
    mean_right, size = (
        _expect_right_guesses(1 / calibrate_multiplier(claimed, delta), each, count),
        1 / calibrate_multiplier(claimed, delta),
    )

    def bounds(correct: int) -> tuple[float, float]:
        return compute_gaussian_bound(count, 2 * each, correct, delta), compute_steinke_bound(
            count, 2 * each, correct, delta
        )

    by_noise, by_pair = bounds(right)
    expected, most = bounds(round(mean_right)), bounds(2 * each)
    estimate = _estimate_epsilon(apart - 1.645 * error, delta)
    shown = (
        AuditFigure(
            name="Gaussian estimate",
            epsilon=estimate,
            at_claim=_estimate_epsilon(size - 1.645 * 2 / math.sqrt(count), delta),
            ceiling=None,
            proved=False,
        ),
        AuditFigure(
            name="bound for Gaussian noise",
            epsilon=by_noise,
            at_claim=expected[0],
            ceiling=most[0],
            proved=True,
        ),
        AuditFigure(
            name="bound for any mechanism",
            epsilon=by_pair,
            at_claim=expected[1],
            ceiling=most[1],
            proved=True,
        ),
    )
    flagged = (
        _estimate_epsilon(apart - _SURE * error, delta) > claimed
        or max(by_noise, by_pair) > claimed
    )
    return OneRunAudit(
        canaries=count,
        guesses=2 * each,
        right=right,
        claimed=claimed,
        delta=delta,
        shown=shown,
        flagged=flagged,
    )


def compute_steinke_bound(canaries: int, guesses: int, right: int, delta: float) -> float:
    """Lower bound on epsilon of any (epsilon, delta) mechanism from `right` correct guesses, with
    95 % confidence.
    """
    from scipy.stats import binom

    def likely(epsilon: float) -> bool:
        each = 1 / (1 + math.exp(-epsilon))
        at_least = float(binom.sf(right - 1, guesses, each))
        fewer = np.arange(1, right + 1)
        spread = float(
            np.max((binom.sf(right - fewer - 1, guesses, each) - at_least) / fewer, initial=0.0)
        )
        return at_least + 2 * canaries * delta * spread > RISK

    return _find_smallest(likely)


def compute_gaussian_bound(canaries: int, guesses: int, right: int, delta: float) -> float:
    """Lower bound on epsilon at `delta` of Gaussian noise from `right` correct guesses, with 95 %
    confidence.
    """
    from scipy.special import ndtr, ndtri

    def likely(epsilon: float) -> bool:
        size = 1 / calibrate_multiplier(epsilon, delta)
        hit, missed = RISK * right / canaries, RISK * (guesses - right) / canaries
        for left in range(right - 1, -1, -1):
            more = max(missed, float(ndtr(ndtri(hit) - size)))
            hit, missed = min(1.0, hit + left / (guesses - left) * (more - missed)), more
        return hit + missed <= guesses / canaries

    return _find_smallest(likely)


def _find_smallest(likely: Callable[[float], bool]) -> float:
    """Smallest epsilon that is not ruled out, to a thousandth. `likely` is monotone."""
    low, high = 0.0, 1.0
    if likely(1e-3):
        return 0.0
    while high < _LARGEST and not likely(high):
        low, high = high, 2 * high
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if likely(middle) else (middle, high)
    return low


def _measure_separation(
    scores: NDArray[np.float64], inside: NDArray[np.bool_]
) -> tuple[float, float]:
    """Distance between the means of both halves, in standard deviations of the canaries left out,
    and its standard error.
    """
    here, there = scores[inside], scores[~inside]
    spread = float(there.std(ddof=1))
    error = math.sqrt(float(here.var(ddof=1)) / len(here) + spread**2 / len(there)) / spread
    return float(here.mean() - there.mean()) / spread, error


def _estimate_epsilon(size: float, delta: float) -> float:
    return min(_LARGEST, compute_epsilon(delta, 1 / size)) if size > 0.02 else 0.0


def _expect_right_guesses(size: float, each: int, count: int) -> float:
    """Expected number of right guesses if the scores of those inside are `size` standard deviations
    higher.
    """
    from scipy.optimize import brentq
    from scipy.stats import norm

    top = brentq(
        lambda edge: (norm.sf(edge) + norm.sf(edge - size)) / 2 - each / count, -10.0, 10.0 + size
    )
    return 2 * each * float(norm.sf(top - size) / (norm.sf(top) + norm.sf(top - size)))
