"""Lower bounds on the epsilon of `onebit` and `skellam`, from exact tails of one test: an oracle that shares no code with Tacit.

An adversary adds up all coordinates of all rounds, each times what the client's update moves it, and asks whether the total T is
beyond a threshold. T is an integer whose cumulant generating function K has a closed form, so its tail is an integral:
P(T >= n) = 1/2π ∫ exp(K(z) - n z) / (1 - e^-z) dω along z = s + iω, for any s > 0. The error of the trapezoidal rule falls
exponentially and is far below 1e-10. With P(A) and Q(A) the probabilities with and without the client, epsilon at delta is at
least log((P(A) - delta) / Q(A)), and the same with P and Q exchanged. The test is nearly the likelihood-ratio test, so the bound
is tight.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpmath import mp, mpc, mpf

Cumulants = Callable[[mpc], mpc]

DIGITS, POINTS = 25, 72


@dataclass(frozen=True)
class Coins:
    """`count` coins that are ones with `probability`, each counted `weight` times."""

    count: int
    probability: mpf
    weight: int = 1

    def cumulants(self, z: mpc) -> mpc:
        return self.count * mp.log(1 + self.probability * mp.expm1(self.weight * z))


@dataclass(frozen=True)
class Skellams:
    """Skellam noise of a variance, on `count` numbers that are moved by `shift` each, counted `weight` times."""

    count: int
    variance: mpf
    weight: int = 1
    shift: int = 0

    def cumulants(self, z: mpc) -> mpc:
        return self.count * (
            self.variance * (mp.cosh(self.weight * z) - 1) + self.shift * self.weight * z
        )


Total = Sequence[Coins | Skellams]


def tail(total: Total, least: int, saddle: mpf) -> mpf:
    """P(T >= least) for a saddle above 0; P(T < least), but for its sign, for one below."""

    def cumulants(z: mpc) -> mpc:
        return mp.fsum(one.cumulants(z) for one in total)

    reach = min(mp.pi, 9 / mp.sqrt(moments(total)[1]))
    width = 2 * reach / POINTS
    parts = []
    for place in range(-POINTS // 2, POINTS // 2 + 1):
        z = mpc(saddle, place * width)
        parts.append((mp.exp(cumulants(z) - least * z) / (1 - mp.exp(-z))).real)
    return mp.fsum(parts) * width / (2 * mp.pi)


def moments(total: Total) -> tuple[mpf, mpf]:
    """Mean and variance of T."""
    mean = variance = mpf(0)
    for one in total:
        if isinstance(one, Coins):
            mean += one.count * one.weight * one.probability
            variance += one.count * one.weight**2 * one.probability * (1 - one.probability)
        else:
            mean += one.count * one.weight * one.shift
            variance += one.count * one.weight**2 * one.variance
    return mean, variance


def least_epsilon(here: Total, there: Total, delta: float) -> float:
    """A lower bound on epsilon at `delta`, of T distributed as `here` and as `there`, in both directions.

    Any threshold gives one. Those that are tried lie where two Gaussians of the same means and variance lose the most.
    """
    with mp.workdps(DIGITS):
        (mean, variance), (other_mean, _) = moments(here), moments(there)
        deviation, upper, best = mp.sqrt(variance), mean > other_mean, mpf(0)
        shift = abs(mean - other_mean) / deviation
        beyond = gaussian_epsilon(shift, delta) / shift - shift / 2
        for inner, outer, centre, above in (
            (here, there, mean, upper),
            (there, here, other_mean, not upper),
        ):
            for place in (beyond - mpf("0.02"), beyond, beyond + mpf("0.02")):
                least = int(mp.floor(centre + place * deviation * (1 if above else -1)))
                inside, outside = (probability(one, least, above) for one in (inner, outer))
                if inside > delta and outside > 0:
                    best = max(best, mp.log((inside - mpf(delta)) / outside))
        return float(best)


def gaussian_epsilon(shift: mpf, delta: float) -> mpf:
    """Epsilon at `delta` of two Gaussians that are `shift` standard deviations apart."""
    low, high = mpf(0), shift**2 + 20 * shift
    for _ in range(60):
        middle = (low + high) / 2
        found = mp.ncdf(shift / 2 - middle / shift) - mp.exp(middle) * mp.ncdf(
            -shift / 2 - middle / shift
        )
        low, high = (middle, high) if found > delta else (low, middle)
    return high


def probability(total: Total, least: int, upper: bool) -> mpf:
    """P(T >= least), or P(T < least)."""
    mean, variance = moments(total)
    away, closest = (least - mean) / variance, 1 / mp.sqrt(variance)
    return (
        tail(total, least, max(away, closest))
        if upper
        else -tail(total, least, min(away, -closest))
    )
