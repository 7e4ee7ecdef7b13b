"""Noisy counts: how many held-out rows a site has, and how many of them a model predicts correctly.

At most `rows_each` rows of a client are counted. Both counts get the floor of Gaussian noise, which
is exact on integers (`gaussian_noise`), and one noise is calibrated for all releases of a run
together.

Sensitivity. A client adds (n, r) to the counts, with 0 <= r <= n <= rows_each. The points (n, r)
form a triangle that contains the origin, and no two of its points are farther apart than (0, 0) and
(rows_each, rows_each). So the L2 sensitivity is √2 · rows_each both when a client is added or
removed (a point and the origin) and when all its rows are replaced (any two points), and the same
claim holds under either relation.

Source: analytic calibration, Balle and Wang 2018.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.distributions.gaussian_noise import STEPS, draw_gaussian
from tacit.codecs.stages.integer_updates import Loss, subtract_rounding
from tacit.errors import ChainError
from tacit.privacy.accounting.sampled_loss import calibrate_multiplier
from tacit.privacy.claim import Claim, GaussianNoise, Relation
from tacit.randomness import Draws

_COUNTS = 2
_DIAGONAL = math.nextafter(math.sqrt(2), 2)
_LEAST = 1e-9
"""The least noise a stated claim may have: below it epsilon is not finite."""


@dataclass(frozen=True, kw_only=True)
class CountNoise:
    """Noise for counts of at most `rows_each` rows per client: floored Gaussian noise in steps of
    2^-26 σ, divided by `divisor`.
    """

    rows_each: int
    divisor: int

    @property
    def stddev(self) -> float:
        """Noise standard deviation of one count."""
        return STEPS / self.divisor

    @property
    def multiplier(self) -> float:
        """Noise multiplier: the standard deviation divided by the L2 sensitivity of both counts
        together.
        """
        return self.stddev / (_DIAGONAL * self.rows_each)

    def add(self, counts: NDArray[np.int64], own: Draws) -> NDArray[np.int64]:
        """Add independent noise to each count."""
        return counts + draw_gaussian(own, counts.size).reshape(counts.shape) // self.divisor

    def claim(self, relation: Relation) -> Claim:
        """Claim about one pair of noisy counts, under the relation of the plan's other claims: it
        holds under either.
        """
        rows = "1 row" if self.rows_each == 1 else f"{self.rows_each:,} rows"
        return Claim(
            mechanism=(
                f"counts of held-out rows, at most {rows} per client, with Gaussian noise (σ ="
                f" {self.stddev:.3g})"
            ),
            event=GaussianNoise(self.multiplier),
            unit="measure",
            relation=relation,
            view="server",
            trust=("nobody, since each site adds noise before anything leaves",),
            rests_on="nobody",
            source=(
                "Balle and Wang 2018, analytic calibration for all measures of a run together;"
                " integer noise"
            ),
        )


def choose_count_noise(loss: Loss, *, rows_each: int, releases: int) -> CountNoise:
    """Choose noise that keeps a loss over all releases of both counts. Raise ChainError if it
    exceeds the largest σ.
    """
    left = subtract_rounding(loss, _COUNTS * releases)
    if left.epsilon <= 0 or left.delta <= 0:
        raise ChainError(
            f"measures.epsilon = {loss.epsilon:g} at delta {loss.delta:g} is too small for exact"
            " noise; raise it"
        )
    wanted = calibrate_multiplier(left.epsilon, left.delta, 1.0, releases) * _DIAGONAL * rows_each
    divisor = math.floor(STEPS / wanted)
    if divisor < 1:
        raise ChainError(
            f"measures.epsilon = {loss.epsilon:g} for {releases:,} measures needs noise of σ ="
            f" {wanted:,.0f}, and σ is at most {STEPS:,}; raise measures.epsilon, or measure more"
            " rarely (server.evaluate_every)"
        )
    return CountNoise(rows_each=rows_each, divisor=divisor)


def read_claim(content: bytes, stddev: float) -> Claim:
    """Read a site's claim, as JSON, about counts with noise of this standard deviation.

    Raise ValueError unless it is, word for word, one that `CountNoise.claim` makes: a site's claim
    enters everybody's record.
    """
    try:
        claim = Claim.from_json(json.loads(content))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ValueError("the claim about its counts is not readable") from None
    if not isinstance(claim.event, GaussianNoise):
        raise ValueError("the claim about its counts is not about Gaussian noise")
    multiplier = claim.event.noise_multiplier
    if min(stddev, multiplier) >= _LEAST:
        rows_each, divisor = round(stddev / (_DIAGONAL * multiplier)), round(STEPS / stddev)
        noise = CountNoise(rows_each=max(1, rows_each), divisor=max(1, divisor))
        if noise.stddev == stddev and noise.claim(claim.relation) == claim:
            return claim
    raise ValueError("the claim about its counts does not follow from their noise")
