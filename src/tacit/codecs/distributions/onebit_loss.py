"""What the sums of all clients' bits reveal about one client: no more than Gaussian noise with almost
the same standard deviation.

**Setting.** N clients send one bit per coordinate, and only the sum S of each coordinate is seen.
Removing a client turns its bits into fair coins. Its update makes a bit a one with probability 1/2
+ t, |t| <= θ; so do the updates of all other clients, in any way. Write P and Q for the
distribution of S with the client's update and with a fair coin. Given all updates, coordinates are
independent. Several bits per coordinate reveal no more than as many coordinates of their own, since
those sums give their sum.

**1. Worst other clients.** P and Q are affine in the probability of each other client, and the
hockey-stick divergence is jointly convex. So the worst probabilities are 1/2 + θ for some clients
and 1/2 - θ for the rest; only their numbers matter, and `_enumerate_others` enumerates these. Many clients
are enumerated in groups of neighbouring numbers. A group leaves out the clients in which its
members differ, which is sound: more independent noise is post-processing.

**2. One coordinate.** Let f be the distribution of the sum of the others' bits. It is log-concave,
so the most powerful tests are thresholds. Let X be a standard Gaussian with density φ, and define
x_s by P(X > x_s) = Q(S >= s). The power at that level is P(S >= s) = Q(S >= s) + t f(s - 1). With κ
= -skewness/3, compute the smallest c for which

    f(s - 1) <= c φ(x_s) (1 + κ x_s)   for all s with |x_s| <= L.

Let h = c t and M = 1 + h (X + κ (X² - 1)). The right side times t is E[M - 1; X > x_s]. So a
Gaussian observation with likelihood ratio M has an ROC curve above that of P against Q. It
dominates (P, Q), except for what lies beyond L.

**3. A Brownian motion with drift.** Let X be a Brownian motion on [0, 1] under Q. Then M_s = 1 + h
(X_s + κ (X_s² - s)) is a martingale that ends in M. By Girsanov it is the likelihood ratio of the
drift b_s = h (1 + 2κ X_s) / M_s; the drift stops where
|X_s| = L. All coordinates and rounds together are a Brownian motion of many dimensions with an adapted drift, also if later
updates depend on earlier sums. Suppose that its energy, the integral of |b_s|², is at most μ². Pad
it to exactly μ². The logarithm of the likelihood ratio is then a continuous martingale of quadratic
variation μ², less μ²/2, hence Gaussian (Dambis, Dubins and Schwarz). So all sums together reveal no
more than one Gaussian release with shift μ.

**4. The energy hardly varies.** b_s² = h² (1 + ℓ X_s + remainder) with |ℓ| <= 2 (2κ + h), and
linear terms of many coordinates average out. Jensen's inequality over s bounds E exp(λ (energy -
h²)) by an integral in one variable, under P and under Q and for either sign of ℓ (`_compute_log_moments`).
Its logarithm over h² grows with h, which is checked numerically and not proved. Let A(λ) be its
value at the largest h. With Δ² = c² Σ t², the energy of k rounds exceeds k Δ² + τ with probability
at most exp(k Δ² A(λ) - λ τ). The drift is stopped at that energy, and the probability is added to
delta (`GaussianDominated`).

**5. What lies beyond L.** Tests beyond L and paths that reach L have a probability below `_BEYOND`
per bit, under P and under Q. Moving that much probability from the most to the least telling
outcomes lowers the power of every test by at most that much.

**6. Few clients.** Where h is so large that M could become negative, each coordinate is dominated
by itself: the smallest shift for which no threshold test has more power than a Gaussian one of the
same level. That shift over t is largest at t = 0 or t = θ, since the quantile of the power is first
concave and then convex in t. There is no drift then, and no excess.

The bound holds for any updates of the others. Its figures are computed in floating point and
rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.accounting.dominated_loss import RATES
from tacit.privacy.claim import GaussianDominated

Floats = NDArray[np.float64]

STEEPEST = 0.03
"""The largest h for which the bound is tight: how far one bit shifts the sum of its coordinate, in
standard deviations.
"""
_POSITIVE = 0.9
"""M stays above 1 minus this where |X| <= L; step 6 takes over otherwise."""

_REACH = 12.0
"""L, in standard deviations."""
_BEYOND = 1e-30
"""More than 200 Φ̄(L): tests beyond L (2 Φ̄), paths that reach L (4 Φ̄) and the likelihood ratio
there (below 3, on either side).
"""
_GROUPS, _CELLS = 256, 1 << 20
"""Largest number of groups of other clients, and of probabilities computed at a time."""
_TILTS = np.arange(-12.0, 13.0, 4.0)
"""Where exponential tilting centres the sum, in standard deviations: Fourier transforms are exact
to many digits near it.
"""
_SLICES = 16
"""Of the time of the Brownian motion."""
_ROUNDING = 1 + 1e-8


@dataclass(frozen=True, kw_only=True)
class CoinSums:
    """Bounds for sums of clients' bits: `shift` is c, in standard deviations per bias t of a bit;
    `moments` are A(λ) at `RATES`.
    """

    shift: float
    moments: tuple[float, ...]

    def dominated(self, *, squares: float, bits: int) -> GaussianDominated:
        """Dominating event of one round of a client whose `bits` bits have squared biases that add
        up to at most `squares`.
        """
        energy = self.shift**2 * squares
        found = [
            (rate, energy * moment)
            for rate, moment in zip(RATES, self.moments, strict=False)
            if math.isfinite(moment)
        ]
        return GaussianDominated(
            noise_multiplier=1 / math.sqrt(energy),
            rates=tuple(rate for rate, _ in found),
            excess=tuple(excess for _, excess in found),
            distance=bits * _BEYOND,
        )


@lru_cache(maxsize=32)
def bound_coin_sums(clients: int, largest: float) -> CoinSums:
    """Bound sums of the bits of `clients` clients, all of whose probabilities are within `largest`
    of one half.

    >>> sums = bound_coin_sums(5000, 0.04)
    >>> event = sums.dominated(squares=5000 / (4 * 24.0**2), bits=16_384)
    >>> round(24 / event.noise_multiplier, 4)
    1.0042
    """
    shift, skew = bound_shift(clients, largest)
    if shift * largest * (_REACH + skew * (_REACH**2 + 1)) > _POSITIVE:
        return CoinSums(shift=bound_single_shift(clients, largest), moments=())
    return CoinSums(shift=shift, moments=_compute_log_moments(shift * largest, skew))


def bound_shift(clients: int, largest: float) -> tuple[float, float]:
    """Largest c and largest |κ| over all probabilities of the other clients."""
    above, below = _enumerate_others(clients - 1)
    variance = (0.25 - largest**2) * (above[0] + below[0]) + 0.25
    slopes = 2 * largest * (0.25 - largest**2) * (above - below) / variance**1.5 / 3
    at_once, shift = max(1, _CELLS // _choose_window(above[0] + below[0], largest)[1]), 0.0
    for start in range(0, len(above), at_once):
        some = slice(start, start + at_once)
        masses = _compute_coin_sums(above[some], below[some], largest)
        upper, lower = _compute_levels(masses)
        x = _compute_quantile(lower, upper)
        near = np.abs(x) <= _REACH
        bound = _compute_density(x) * (1 + slopes[some, None] * np.where(near, x, 0.0))
        shift = max(shift, float(np.divide(masses, bound, where=near, out=np.zeros_like(x)).max()))
    return shift * _ROUNDING, float(np.abs(slopes).max()) * _ROUNDING


def bound_single_shift(clients: int, largest: float) -> float:
    """Largest shift of step 6 per bias, over all probabilities of the other clients; for few
    clients, where all tests count.
    """
    masses = _compute_coin_sums(*_enumerate_others(clients - 1), largest)
    upper, lower = _compute_levels(masses)
    real, gain = masses > 0, largest * masses
    steps = [
        (_compute_quantile(power, missed)[real] - _compute_quantile(level, rest)[real]) / largest
        for power, missed, level, rest in (
            (upper + gain, lower - gain, upper, lower),
            (lower + gain, upper - gain, lower, upper),
        )
    ]
    at_zero = masses[real] / _compute_density(_compute_quantile(lower, upper))[real]
    return float(max(at_zero.max(), *(step.max() for step in steps))) * _ROUNDING


def _enumerate_others(count: int) -> tuple[Floats, Floats]:
    """For each group, the least numbers of other clients above and below one half; mirror images
    are left out.

    A group of several numbers leaves out one client fewer than it has numbers, so all groups have
    the same total.
    """
    width = -(-(count // 2 + 1) // _GROUPS)
    above = np.arange(0, count // 2 + 1, width, dtype=np.float64)
    return above, count - width + 1 - above


def _choose_window(count: float, largest: float) -> tuple[int, int]:
    """Largest distance of sums of coins from their mean that is computed, and the size of the
    Fourier transforms.
    """
    from scipy.fft import next_fast_len  # heavy to load

    half = math.ceil((_REACH + 2.5) * math.sqrt((0.25 - largest**2) * count)) + 8
    return half, 2 * next_fast_len(half + 1)


def _compute_levels(masses: Floats) -> tuple[Floats, Floats]:
    """Q(S >= s) and Q(S < s) for each threshold s, from the distributions f of the others, one per
    row.
    """
    more, less = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1], np.cumsum(masses, axis=1)
    return more - masses / 2, less - masses / 2  # half of f(s - 1) lies on either side


def _compute_density(x: Floats) -> Floats:
    return np.asarray(np.exp(-x * x / 2) / math.sqrt(2 * math.pi))


def _compute_quantile(below: Floats, above: Floats) -> Floats:
    """Quantile of a standard Gaussian, from its probabilities below and above."""
    from scipy.special import ndtri  # heavy to load

    return np.asarray(
        np.where(below < above, ndtri(np.clip(below, 0.0, 0.5)), -ndtri(np.clip(above, 0.0, 0.5)))
    )


def _compute_coin_sums(above: Floats, below: Floats, largest: float) -> Floats:
    """Distributions of sums of coins with probabilities 1/2 + largest and 1/2 - largest, one per
    row, around their means.

    Each part is read from the Fourier transform of the tilted sum whose mean is nearest.
    """
    half, size = _choose_window(above[0] + below[0], largest)
    spread = math.sqrt((0.25 - largest**2) * (above[0] + below[0]))
    first = np.floor(above * (0.5 + largest) + below * (0.5 - largest)) - half
    places = first[:, None] + np.arange(2 * half + 1)
    masses, angles = np.zeros(places.shape), 2 * math.pi * np.arange(size // 2 + 1) / size
    nearest = np.abs(np.arange(-half, half + 1)[:, None] / max(spread, 1.0) - _TILTS).argmin(axis=1)
    for number in np.unique(nearest).tolist():
        tilt = float(_TILTS[number]) / max(spread, 1.0)
        sums, weights = 1j * first[:, None] * angles, np.zeros(len(above))
        for counts, probability in ((above, 0.5 + largest), (below, 0.5 - largest)):
            scale = math.log1p(probability * math.expm1(tilt))
            turned = 1 + probability * math.exp(tilt - scale) * np.expm1(-1j * angles)
            sums += counts[:, None] * np.log(turned)
            weights += counts * scale
        own = nearest == number
        found = np.fft.irfft(np.exp(sums), size)[:, : 2 * half + 1]
        masses[:, own] = (found * np.exp(weights[:, None] - tilt * places))[:, own]
    return np.where((places >= 0) & (places <= above[0] + below[0]), np.maximum(masses, 0.0), 0.0)


def _compute_log_moments(steepest: float, skew: float) -> tuple[float, ...]:
    """A(λ) at each of `RATES`: log E exp(λ (energy - h²)) / h² for one bit with the largest h;
    infinite where it is useless.
    """
    slope, x = 2 * skew + steepest, np.linspace(0.0, _REACH, 1201)
    reach = x + skew * (x**2 + 1)  # at least |X + κ (X² - s)|
    left = (slope * x * steepest * reach + steepest * skew * np.maximum(x**2, 1)) / (
        1 - steepest * reach
    )
    remainder, linear = 2 * left + (slope * x + left) ** 2, 2 * slope * x
    total = np.zeros(len(RATES))
    rates = np.array(RATES)[:, None] * steepest**2
    with np.errstate(over="ignore", invalid="ignore"):  # overflow ends as infinity
        even, odd = np.exp(rates * (remainder + linear)), np.exp(rates * (remainder - linear))
        for place in range(_SLICES):
            begin, end = place / _SLICES, (place + 1) / _SLICES
            weights = np.exp(-(x**2) / (2 * end))
            weights[0] /= 2
            weights /= weights.sum()
            ratio = 1 + steepest * skew * (x**2 - begin)
            growth = (even * (ratio + steepest * x) + odd * (ratio - steepest * x)) / 2
            total += growth @ weights / _SLICES
    with np.errstate(divide="ignore"):
        found = np.log(total + 1e-14) / steepest**2  # covers rounding and paths that reach L
    return tuple(float(one) if one < 1e9 else math.inf for one in found)
