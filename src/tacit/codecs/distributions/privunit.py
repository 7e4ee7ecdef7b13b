"""PrivUnitG: one Gaussian vector that leans towards a direction, with a pure epsilon.

A Gaussian vector w of k numbers is drawn so that its part along a unit vector u is at least γ with
probability p, where a free Gaussian's would be with probability q. So its density is that of a free
Gaussian times p/q on one side of a plane and (1-p)/(1-q) on the other, and no two directions differ
by more than p (1-q) / (q (1-p)) = e^epsilon. Its mean is m u; p is the one for which m is largest.

What is exact, and what is not. The law above is, and only multiples of a public step leave: the
last digits of floating point, which can give away what noise was added to (Mironov 2012), never do.
Randomness comes from the client's address. What is drawn is not exactly that law: noise is even
within 2^-26 instead of Gaussian, and the sum, in float64, is off by less than 2^-40 before it is
rounded to the step of 2^-8. The first moves the density of one number by a factor of at most
e^(13/2^26); the second moves the walls of a step's cell by 2^-32 of it, all k walls together by
less than 2^-27, and beyond a wall that is the plane the density is e^epsilon higher. `bound_rounding` is
more than both, on both sides of a ratio, and is taken off epsilon beforehand.

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
"""What leaves is a multiple of it."""
LARGEST = 1 << 12
_FURTHEST = 12.0
"""No number is more steps from 0."""


@dataclass(frozen=True, kw_only=True)
class Bias:
    """How a vector leans: towards its direction by at least `edge` with probability `chance`, by
    `mean` on average.
    """

    chance: float
    edge: float
    mean: float

    @property
    def free(self) -> float:
        """Return with which probability a free Gaussian vector reaches the edge."""
        from scipy.special import ndtr

        return float(ndtr(-self.edge))

    @property
    def second_moment(self) -> float:
        """Return the mean square of the part along the direction."""
        return 1 + self.edge * self.mean


def bound_rounding(epsilon: float, size: int) -> float:
    """Return more than floating point and steps can add to epsilon, for vectors of `size`
    numbers.
    """
    return size * 2**-21 + math.exp(epsilon) * 2**-26


@lru_cache(maxsize=64)
def choose_bias(epsilon: float) -> Bias:
    """Return how a vector leans the most at a pure epsilon.

    >>> found = lean_for(4.0)
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
    """Return a random vector, in whole steps, that leans towards a direction of length 1."""
    size = len(direction)
    words = own.at("even").words(size + 2)
    shares = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
    free = (draw_gaussian(own.at("noise"), size) + shares[2:]) / STEPS
    part = _draw_component(bias, bool(shares[0] < bias.chance), float(shares[1]))
    steps = np.rint((free + (part - float(free @ direction)) * direction) / STEP)
    return np.clip(steps, -LARGEST, LARGEST).astype(np.int64)


def bound_norm(size: int) -> int:
    """Return an L2 norm, in steps of `STEP`, that vectors of `size` numbers exceed with a
    probability of at most 2^-64.

    A vector is a free Gaussian one whose part along the direction is replaced. The free one is
    bounded as in `gaussian_noise`. The part is drawn from 53 bits of a share, at an epsilon of at
    most 16: it is never beyond 12. Rounding moves a number by at most half a step.
    """
    return math.ceil((bound_noise_norm(size) / STEPS + _FURTHEST) / STEP + math.sqrt(size) / 2)


def _draw_component(bias: Bias, beyond: bool, share: float) -> float:
    """Return the part along the direction at a share of its law: a Gaussian beyond the edge, or
    before it.

    By the logarithm of the tail, so that it keeps its digits where the tail is small.
    """
    from scipy.special import log_ndtr, ndtri_exp

    side = -1.0 if beyond else 1.0  # the tail beyond the edge is the one before its opposite
    return side * float(ndtri_exp(math.log(share) + float(log_ndtr(side * bias.edge))))
