"""The noise that keeps a stated loss for a whole run, and updates as integers of bounded L2 norm.

The plan states epsilon and delta for the run. Gaussian releases of all rounds together have exactly
the privacy loss of one release with less noise (`gaussian_loss`). So the multiplier of a round is
that of one release times the root of the number of rounds, which covers a client that responds in
every round. If each client is sampled with some probability and only the party that adds the noise
knows who was sampled, less noise is enough (`sampled_loss`). For cohorts of a fixed size no
amplification is claimed.

Source: analytic calibration, Balle and Wang 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.codecs.contract import Extent
from tacit.codecs.distributions.gaussian_noise import DISTANCE, FACTOR, STEPS, draw_gaussian
from tacit.errors import ChainError
from tacit.privacy.accounting.sampled_loss import calibrate_multiplier
from tacit.randomness import Draws

_WIDEST = 1 << 30
"""Largest number of steps per clip: an update with its noise fits 32 bits, and its squares add up
within 64.
"""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Integers for updates of L2 norm `clip`: no update has a norm above `radius` steps, and noise
    has `steps` steps per standard deviation.
    """

    clip: float
    radius: int
    steps: int = STEPS

    @property
    def step(self) -> float:
        """Size of one step, in units of an update."""
        return self.clip / self.radius

    @property
    def stddev(self) -> float:
        """Standard deviation of the noise on one coordinate."""
        return self.steps * self.step

    def coarsen(self, halvings: int) -> Scale:
        """Make steps 2^halvings times as large. Relative to the clip, the noise never becomes
        smaller.
        """
        return replace(self, radius=self.radius >> halvings, steps=self.steps >> halvings)

    def noise(self, own: Draws, count: int) -> NDArray[np.int64]:
        """Floored Gaussian noise. floor(floor(x)/k) == floor(x/k), so coarsening is exact."""
        return draw_gaussian(own, count) // (STEPS // self.steps)

    def round_to_integers(self, update: NDArray[np.floating]) -> NDArray[np.int64]:
        """Round an update, or each row of a matrix, to integer steps. Its L2 norm must be about
        `clip` or less.

        Guarantees: the squares of a row add up to at most radius², in integers. If rounding makes
        the norm larger, the row is scaled and rounded towards zero.
        """
        if update.ndim == 2:
            return (
                np.stack([self.round_to_integers(row) for row in update])
                if len(update)
                else np.empty(update.shape, np.int64)
            )
        steps = np.empty(len(update), np.int64)
        squares = int(round_to_steps(update, 1 / self.step, steps))
        if squares > self.radius**2:
            # The last factor covers the rounding of the root, 2^-53 relative.
            shorten(steps, self.radius / (math.floor(math.sqrt(squares)) + 1) * (1 - 2**-40))
        return steps


@dataclass(frozen=True, kw_only=True)
class Loss:
    """The privacy loss that a plan states for all releases of a kind together. For errors: the
    table that states it, its period, and the key that sets the number of releases.
    """

    epsilon: float
    delta: float
    table: str = "codec"
    per: str = "run"
    counted_by: str = "server.rounds"


def choose_scale_for_run(loss: Loss, extent: Extent, clip: float, times: int, dim: int) -> Scale:
    """Choose the scale at which noise of one standard deviation per round keeps a loss for the run."""
    return choose_scale(loss, clip, times, releases=extent.rounds, numbers=extent.rounds * dim)


def choose_scale(
    loss: Loss, clip: float, times: float, *, releases: int, numbers: int, rate: float = 1.0
) -> Scale:
    """Choose the scale at which noise of one standard deviation keeps a loss, for a sensitivity of
    `times` clips.

    `releases` together have that loss, each over clients sampled with probability `rate`. `numbers`
    counts all noise values of the run, since the distribution of each is slightly inexact. Raises
    ChainError if the noise is larger than integers can hold, or not precise enough for so large a
    number of values.
    """
    left = subtract_rounding(loss, numbers)
    who = f"{loss.table}(epsilon={loss.epsilon:g} per {loss.per}, delta={loss.delta:g})"
    if left.delta < loss.delta / 2 or left.epsilon < loss.epsilon / 2:
        raise ChainError(
            f"{who}: the noise is not precise enough for {numbers:,} values in the run; raise"
            f" {loss.table}.delta, or lower {loss.table}.epsilon"
        )
    multiplier = calibrate_multiplier(left.epsilon, left.delta, rate, releases)
    radius = min(
        _WIDEST, math.floor(STEPS / (times * multiplier))
    )  # rounding the radius down can only increase the noise
    if radius < 1:
        raise ChainError(
            f"{who}: {releases:,} releases need a noise multiplier of {multiplier:,.0f}, and it is"
            f" at most {STEPS // times:,}; raise {loss.table}.epsilon or lower {loss.counted_by}"
        )
    return Scale(clip=clip, radius=radius)


def subtract_rounding(loss: Loss, numbers: int) -> Loss:
    """Compute the loss that true Gaussian noise must keep, so that `numbers` values of ours keep
    the stated loss.

    Proof. Let η be DISTANCE and γ FACTOR, P and Q the distributions of all releases on two
    neighbouring data sets with true noise, and n the number of values drawn. Ours differ from them
    by nη in total variation and then by a factor (1 ± γ)^n. So for any set S ours has P'(S) <=
    (1+γ)^n (P(S) + nη) <= (1+γ)^n (e^ε Q(S) + δ + nη), and Q(S) <= (1-γ)^-n Q'(S) + nη: epsilon
    grows by at most 3nγ, and delta to at most (1 + 2nγ) (δ + nη (1 + e^ε)), as long as nγ is small.
    """
    distance, factor = numbers * DISTANCE, numbers * FACTOR
    added = distance * (1 + math.exp(loss.epsilon))
    return replace(
        loss, epsilon=loss.epsilon - 3 * factor, delta=loss.delta / (1 + 2 * factor) - added
    )


@numba.njit(nogil=True, cache=True)
def round_to_steps(
    update: NDArray[np.floating], per_unit: float, steps: NDArray[np.int64]
) -> np.int64:
    """Round each value to an integer number of steps, and return the sum of squares."""
    squares = np.int64(0)
    for i in range(update.size):
        steps[i] = np.int64(np.rint(update[i] * per_unit))
        squares += steps[i] * steps[i]
    return squares


@numba.njit(nogil=True, cache=True)
def shorten(steps: NDArray[np.int64], factor: float) -> None:
    """Scale integers and round them towards zero, in place."""
    for i in range(steps.size):
        steps[i] = np.int64(np.trunc(steps[i] * factor))
