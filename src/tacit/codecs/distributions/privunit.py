"""PrivUnitG: a Gaussian vector biased towards a direction, with a pure epsilon.

A Gaussian vector w of k numbers is drawn so that its component along a unit vector u is at least γ
with probability p; for an unbiased Gaussian that has probability q. So its density is that of an
unbiased Gaussian times p/q on one side of a plane and (1-p)/(1-q) on the other, and no two
directions differ by more than p (1-q) / (q (1-p)) = e^epsilon. Its mean is m u; p is chosen to
maximise m.

What is exact, and what is not. The distribution above is, and only multiples of a public step
leave. The last digits of floating point, which can reveal what noise was added to (Mironov 2012),
never do. Randomness comes from the client's address. The drawn distribution is not exactly that:
noise is uniform within 2^-26 instead of Gaussian, and the sum, in float64, has an error below 2^-40
before it is rounded to the step of 2^-8. The first changes the density of one number by a factor of
at most e^(13/2^26). The second moves the walls of a step's cell by 2^-32 of it, all k walls
together by less than 2^-27, and beyond a wall that is the plane the density is e^epsilon higher.
`bound_rounding` covers both, on both sides of a ratio, and is subtracted from epsilon beforehand.

Source: Asi, Feldman and Talwar 2022, *Optimal Algorithms for Mean Estimation under Local
Differential Privacy*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.distributions.gaussian_noise import STEPS, bound_noise_norm, draw_gaussian
from tacit.randomness import ClientDraws

Floats = NDArray[np.float64]

STEP = 2.0**-8
"""Messages are integer multiples of this step."""
LARGEST = 1 << 12
_FURTHEST = 12.0
"""Bound on the component along the direction."""


@dataclass(frozen=True, kw_only=True)
class Bias:
    """The component along the direction: at least `edge` with probability `chance`, and `mean` on
    average.
    """

    chance: float
    edge: float
    mean: float

    @property
    def free(self) -> float:
        """Probability that an unbiased Gaussian vector reaches the edge."""
        from scipy.special import ndtr

        return float(ndtr(-self.edge))

    @property
    def second_moment(self) -> float:
        """Mean square of the component along the direction."""
        return 1 + self.edge * self.mean


def bound_rounding(epsilon: float, size: int) -> float:
    """Bound what floating point and steps can add to epsilon, for vectors of `size` numbers."""
    return size * 2**-21 + math.exp(epsilon) * 2**-26


@lru_cache(maxsize=64)
def choose_bias(epsilon: float) -> Bias:
    """Choose the largest bias at a pure epsilon.

    >>> found = choose_bias(4.0)
    >>> round(found.chance, 3), round(1 / found.mean, 3)
    (0.791, 0.66)
    """
    from scipy.optimize import minimize_scalar  # heavy to load, and few plans need it

    found = minimize_scalar(
        lambda chance: -_build_bias(epsilon, chance).mean,
        bounds=(0.5, 1 - 1e-9),
        options={"xatol": 1e-10},
    )
    return _build_bias(epsilon, float(found.x))


def _build_bias(epsilon: float, chance: float) -> Bias:
    from scipy.special import ndtri_exp

    log_free = -math.log1p(math.exp(epsilon) * (1 - chance) / chance)  # ln q
    free, edge = math.exp(log_free), -float(ndtri_exp(log_free))
    density = math.exp(-edge * edge / 2) / math.sqrt(2 * math.pi)
    return Bias(
        chance=chance,
        edge=edge,
        mean=density * (chance / free - (1 - chance) / -math.expm1(log_free)),
    )


def draw_biased_vector(direction: Floats, bias: Bias, own: ClientDraws) -> NDArray[np.int64]:
    """Draw a random vector, in integer steps, biased towards a direction of L2 norm 1."""
    size = len(direction)
    words = own.at("even").words(size + 2)
    shares = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
    free = (draw_gaussian(own.at("noise"), size) + shares[2:]) / STEPS
    part = _draw_component(bias, bool(shares[0] < bias.chance), float(shares[1]))
    steps = np.rint((free + (part - float(free @ direction)) * direction) / STEP)
    return np.clip(steps, -LARGEST, LARGEST).astype(np.int64)


def bound_norm(size: int) -> int:
    """L2 norm, in steps of `STEP`, that vectors of `size` numbers exceed with probability at most
    2^-64.

    A vector is an unbiased Gaussian whose component along the direction is replaced. The unbiased
    vector is bounded as in `gaussian_noise`. The component is drawn from 53 bits, at an epsilon of
    at most 16: it is never beyond 12. Rounding changes a number by at most half a step.
    """
    return math.ceil((bound_noise_norm(size) / STEPS + _FURTHEST) / STEP + math.sqrt(size) / 2)


def _draw_component(bias: Bias, beyond: bool, share: float) -> float:
    """Component along the direction at the quantile `share`: a Gaussian beyond the edge, or before
    it.

    Computed from the logarithm of the tail, to keep its digits where the tail is small.
    """
    from scipy.special import log_ndtr, ndtri_exp

    side = -1.0 if beyond else 1.0  # by symmetry, beyond the edge is before its negative
    return side * float(ndtri_exp(math.log(share) + float(log_ndtr(side * bias.edge))))
