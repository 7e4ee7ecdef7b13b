"""Correlated noise over rounds (banded matrix factorisation): each round subtracts part of the
noise of earlier rounds, so that the sum over rounds has less.

With independent z per round, round t gets w_t = z_t - c_1 w_(t-1) - … - c_(b-1) w_(t-b+1). A party
that sees sums with this noise sees no more than C g + z, where g are the sums and C has 1 on its
diagonal and the c below it, in b bands. An update of one round changes b entries of C g, by the L2
norm of a column of C. Updates of one client that are at least b rounds apart change different
entries. So k of them together have the privacy loss of k releases whose noise is smaller by that
norm. If a client responds in every round, nothing is gained: then independent noise is best
(docs/concepts/noise-over-rounds.md).

Guarantees: exact, in integers. The c are multiples of 2^-8, and noise has 2^8 fine steps per step
of a sum. The floor of a real Gaussian minus an integer number of fine steps is again that of a real
Gaussian, so what leaves is a function of C g + z with true noise. The c minimise the noise in the
sum of all rounds for the given privacy loss.

Source: Choquette-Choo et al. 2023, *(Amplified) banded matrix factorization*; Denisov et al. 2022
for models that depend on sums.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.distributions.gaussian_noise import draw_gaussian
from tacit.randomness import ServerDraws, require

FINE_BITS = 8
"""A step of a sum is 2^8 fine steps of noise, and coefficients are multiples of 2^-8."""
_ONE = 1 << FINE_BITS


@lru_cache(maxsize=16)
def choose_coefficients(rounds: int, bands: int) -> tuple[int, ...]:
    """Choose c_1 … c_(bands-1), in multiples of 2^-8, for the least noise in the sum of all rounds."""
    from scipy.optimize import minimize

    if bands < 2:
        return ()
    found = minimize(
        lambda c: _compute_sum_noise(c, rounds) * math.sqrt(1 + float(c @ c)),
        0.7 ** np.arange(1, bands),
        method="BFGS",
    )
    return tuple(int(c) for c in np.rint(_ONE * found.x))


def compute_column_norm(whole: tuple[int, ...]) -> float:
    """L2 norm of a column of C, rounded up: the factor by which the sensitivity grows."""
    return math.sqrt(1 + sum(c * c for c in whole) / _ONE**2) * (1 + 2**-50)


def compute_relative_noise(whole: tuple[int, ...], rounds: int) -> float:
    """Standard deviation of the noise in the sum of all rounds, relative to independent noise."""
    return _compute_sum_noise(np.array(whole) / _ONE, rounds) / math.sqrt(rounds)


def _compute_sum_noise(c: NDArray[np.float64], rounds: int) -> float:
    """Noise in the sum of all rounds, relative to z: the L2 norm of 1'C^-1."""
    from scipy.signal import lfilter

    return float(np.linalg.norm(lfilter([1.0], np.append(1.0, c), np.ones(rounds))))


class BandedNoise:
    """The noise of one run, round by round. It follows from the draws of all rounds, so a resumed
    run has the same noise.
    """

    def __init__(self, whole: tuple[int, ...]) -> None:
        self._whole, self._root, self._kept = (
            whole,
            ServerDraws(b""),
            dict[int, NDArray[np.int64]](),
        )

    def at(self, root: ServerDraws, round_no: int, count: int) -> NDArray[np.int64]:
        """Draw a round's noise in steps of a sum; the draws of each round lie below `root`."""
        require(root, ServerDraws)
        wanted = range(max(1, round_no - len(self._whole)), round_no)
        if root != self._root or any(
            one not in self._kept or len(self._kept[one]) != count for one in wanted
        ):
            self._root, self._kept = root, {}
            wanted = range(1, round_no)
            for one in wanted:
                self._next(one, count)
        return self._next(round_no, count)

    def _next(self, round_no: int, count: int) -> NDArray[np.int64]:
        fine = draw_gaussian(self._root.at(round_no), count)
        for back, c in enumerate(self._whole, start=1):
            if round_no - back >= 1:
                fine -= c * self._kept[round_no - back]
        noise = fine >> FINE_BITS
        kept = {
            one: rows
            for one, rows in self._kept.items()
            if round_no - len(self._whole) < one < round_no
        }
        self._kept = {**kept, round_no: noise}
        return noise
