"""What the sum of many clients' bits says about one of them: a Rényi curve that grows with the length of its update alone.

The setting. N clients each send one bit per coordinate; only the sum S of each coordinate is seen. A client is taken out by letting
its bits be fair coins. Its update makes them ones with probability 1/2 + t, |t| <= θ; so may everybody else's, in any way.
Coordinates are independent, given all updates, so their divergences add up.

One coordinate. With b the client's fair bit and ε = 2b - 1, the likelihood ratio of the sum is 1 + 2tY, Y = E[ε | S]: for
bits of all others with law f, Y = (f(s-1) - f(s)) / (f(s-1) + f(s)).

Step 1: the others may be taken to be at 1/2 + δ_i with |δ_i| = θ. Divergences are convex in the pair of laws, and these are
affine in each δ_i.

Step 2: Y is a mean of something simple. Let B_i be the others' bits, ε_i = 2B_i - 1, η_i = ε_i - 2δ_i. Given S, a pair (B_i, b)
that differs is (1, 0) with odds (1/2 + δ_i) : (1/2 - δ_i), so P(B_i = 1 | S) - P(b = 1 | S) = 2δ_i P(B_i ≠ b | S). All these
probabilities add up to S. Solved for Y, with W = Σ δ_i η_i and κ = 1 - 4θ² (N-1)/N:

    Y = E[U | S],   U = 2/(N κ) (Z + ε W),   Z = S - E S = (ε + Σ η_i) / 2.

By Jensen E φ(Y) <= E φ(U) for every convex φ: for (1 + 2tu)^α, and for (1 + 2tu)^(1-α), the other direction. Given ε, the
sum Z + εW = ε/2 + Σ (1/2 + ε δ_i) η_i is one of independent terms, so its cumulants are sums, and linear in the number of
others at +θ. U has mean 0 and, to first order, variance (1 + 4θ²) / (1 - 4θ²) / N: what is lost is of order θ².

Step 3: E (1 + 2tU)^α - 1 is a sum over k >= 2 of "α over k" times (2t)^k E U^k. Moments are bounded by those whose cumulants are
the absolute ones, largest within each of many ranges of that number, and the worst range is taken. With binomials by their size,
too, all terms are positive, so the sum divided by t² is largest at t = θ, and the divergence is at most (sum at θ) / θ² / (α - 1)
times Σ t²: the length of the update decides. Beyond the last moment that is computed, |U| <= (1 + 2θ)² / κ bounds the rest.

So this is proved for any updates of the others; its figures are computed in floating point and rounded up.

Several bits per coordinate cost no more than as many coordinates of their own, whose sums say more than their sum.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.renyi_loss import ORDERS

Floats = NDArray[np.float64]

_MOMENTS = 40
"""The last moment that is computed; even."""
_RANGES = 256
"""Ranges of the number of others at +θ; the worst is taken."""
_ROUNDING = 1 + 1e-9
_HUGE = 500.0
"""Logarithm of a bound that is of no use, since far above any divergence there is, and finite."""


def sum_curve(clients: int, largest: float, squares: float) -> tuple[float, ...]:
    """Return the Rényi divergence at `ORDERS` of all sums of bits, for one client among `clients` whose update is taken out.

    `largest` is the most a probability may be off one half, at any client; `squares` the most that the squares of how far they
    are off add up to, over all bits of one client.

    >>> curve = sum_curve(5000, 0.04, 5000 / (4 * 24.0**2))  # beside Gaussian noise of 24 on the sum
    >>> round(curve[ORDERS.index(11.0)] / (11.0 / (2 * 24.0**2)), 3)
    1.014
    """
    reach = min(largest, math.sqrt(squares))  # squares that add up to less than the largest one allowed bound each of them
    worst = np.maximum(*_excess(clients, reach)) * (squares / reach**2) * _ROUNDING
    return tuple(np.maximum.accumulate(worst / (np.array(ORDERS) - 1)).tolist())


def _excess(clients: int, reach: float) -> tuple[Floats, Floats]:
    """Return E (1 + 2θU)^α - 1 and E (1 + 2θU)^(1-α) - 1, or more, at every order α."""
    kappa = 1 - 4 * reach**2 * (clients - 1) / clients
    beyond = 2 * reach * (1 + 2 * reach) ** 2 / kappa  # no |2θU| is larger
    step = 2 * reach / (kappa * math.sqrt(clients))  # 2θU is that times a number of variance about 1
    powers = np.arange(_MOMENTS + 1, dtype=np.float64)[:, None]
    moments = (_moments(clients, reach, 1) + _moments(clients, reach, -1)) / 2
    terms = np.minimum(moments * step**powers, beyond**powers)
    orders = np.array(ORDERS)
    return _series(orders, terms, beyond), _series(1 - orders, terms, beyond)


def _series(exponents: Floats, terms: Floats, beyond: float) -> Floats:
    """Return the sum of |"exponent over k"| times term k from k = 2 on, in the worst range.

    Each term past the last that is given is at most `beyond` times the one before. Binomials grow no faster than those of
    (1 - beyond)^-|exponent|; where they already shrink by then, as a geometric series.
    """
    ratios = np.abs(exponents[:, None] - np.arange(_MOMENTS + 1)) / (np.arange(_MOMENTS + 1) + 1)
    coefficients = np.concatenate([np.ones((len(exponents), 1)), np.cumprod(ratios, axis=1)], axis=1)
    shrink = beyond * np.maximum(1.0, (np.abs(exponents) + _MOMENTS + 1) / (_MOMENTS + 2))
    slow = np.exp(np.minimum(-np.abs(exponents) * math.log1p(-beyond) - _MOMENTS * math.log(beyond), _HUGE))
    left = np.where(shrink < 0.99, coefficients[:, -1] * beyond / np.maximum(1 - shrink, 0.01), slow)
    return np.asarray((coefficients[:, 2:-1] @ terms[2:] + left[:, None] * terms[-1]).max(axis=1))


def _moments(clients: int, reach: float, side: int) -> Floats:
    """Return bounds on all moments of (Z + εW) / (sqrt(N)/2) for ε = side, in columns by range of the number of others at +θ."""
    ends = np.linspace(0, clients - 1, _RANGES + 1)
    scale = math.sqrt(clients) / 2
    cumulants = np.zeros((_MOMENTS + 1, _RANGES))
    cumulants[1] = 0.5 / scale
    for k in range(2, _MOMENTS + 1):
        high, low = (((0.5 + side * delta) / scale * 2) ** k * float(_bernoulli_cumulant(k)(delta)) for delta in (reach, -reach))
        each = np.abs(ends * high + (clients - 1 - ends) * low)
        cumulants[k] = np.maximum(each[1:], each[:-1])
    moments = np.zeros((_MOMENTS + 1, _RANGES))
    moments[0] = 1
    for k in range(1, _MOMENTS + 1):
        for j in range(1, k + 1):
            moments[k] += math.comb(k - 1, j - 1) * cumulants[j] * moments[k - j]
    return moments


@lru_cache(maxsize=_MOMENTS)
def _bernoulli_cumulant(k: int) -> np.polynomial.Polynomial:
    """Return a cumulant of a bit that is 1 with probability 1/2 + δ, as a polynomial in δ: κ' = (1/4 - δ²) dκ/dδ."""
    if k == 1:
        return np.polynomial.Polynomial([0.5, 1.0])
    return np.polynomial.Polynomial([0.25, 0.0, -1.0]) * _bernoulli_cumulant(k - 1).deriv()
