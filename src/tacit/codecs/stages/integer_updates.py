"""How much noise keeps a stated loss for a whole run, and updates as whole numbers whose length is
certain.

The plan states epsilon and delta for the run. Gaussian releases of all rounds together cost exactly
what one with less noise costs (`gaussian_loss`), so the multiplier of a round is that of one
release times the root of the number of rounds: a client that answers every round is covered. Where
each client is asked with a chance and only who adds the noise knows who was, less noise does
(`sampled_loss`); for cohorts of a fixed size no such gain is claimed.

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
"""The most steps to a clip: then an update with its noise fits 32 bits, and its squares add up
within 64.
"""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Whole numbers for updates of length `clip`: no update is longer than `radius` steps, and
    noise has `steps` of them to one standard deviation.
    """

    clip: float
    radius: int
    steps: int = STEPS

    @property
    def step(self) -> float:
        """Return how much one step is."""
        return self.clip / self.radius

    @property
    def stddev(self) -> float:
        """Return the standard deviation of the noise on one coordinate."""
        return self.steps * self.step

    def coarsen(self, halvings: int) -> Scale:
        """Return a scale whose steps are 2^halvings times as large; noise is never smaller for it,
        measured in clips.
        """
        return replace(self, radius=self.radius >> halvings, steps=self.steps >> halvings)

    def noise(self, own: Draws, count: int) -> NDArray[np.int64]:
        """Return `count` numbers of noise: the floor of Gaussian noise, for the floor of a floor in
        larger steps is one again.
        """
        return draw_gaussian(own, count) // (STEPS // self.steps)

    def round_to_integers(self, update: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return an update of a length of about `clip` or less, or each of many such rows, as whole
        steps.

        Guarantees: the squares of a row add up to at most radius², in whole numbers. Rounding may
        make a row longer; then it is scaled and cut towards zero.
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
            # The root may be rounded, by 2^-53 of itself; that is what the last factor is for, and
            # no row gets longer by it.
            shorten(steps, self.radius / (math.floor(math.sqrt(squares)) + 1) * (1 - 2**-40))
        return steps


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What a plan states for all releases of a kind together, in which table, per what, and by
    which key there are fewer.
    """

    epsilon: float
    delta: float
    table: str = "codec"
    per: str = "run"
    counted_by: str = "server.rounds"


def choose_scale_for_run(loss: Loss, extent: Extent, clip: float, times: int, dim: int) -> Scale:
    """Return the scale at which a codec's noise of one standard deviation in each round keeps a
    loss for the run.
    """
    return choose_scale(loss, clip, times, releases=extent.rounds, numbers=extent.rounds * dim)


def choose_scale(
    loss: Loss, clip: float, times: float, *, releases: int, numbers: int, rate: float = 1.0
) -> Scale:
    """Return the scale at which noise of one standard deviation keeps a loss, if a change of data
    moves a sum by `times` clips.

    `releases` of them together have that loss, each on clients taken with the chance `rate`;
    `numbers` are all that get noise in the run, for the law of each is a little off. Raises
    ChainError if there is more noise than whole numbers can hold, or more numbers than it is fine
    enough for.
    """
    left = subtract_rounding(loss, numbers)
    who = f"{loss.table}(epsilon={loss.epsilon:g} per {loss.per}, delta={loss.delta:g})"
    if left.delta < loss.delta / 2 or left.epsilon < loss.epsilon / 2:
        raise ChainError(
            f"{who} needs noise finer than it is drawn, with {numbers:,} numbers in the run; "
            f"raise {loss.table}.delta, or lower {loss.table}.epsilon"
        )
    multiplier = calibrate_multiplier(left.epsilon, left.delta, rate, releases)
    radius = min(
        _WIDEST, math.floor(STEPS / (times * multiplier))
    )  # with fewer steps to a clip noise is larger, never smaller
    if radius < 1:
        raise ChainError(
            f"{who} needs a noise multiplier below {STEPS // times:,}, got {multiplier:,.0f} with"
            f" {releases:,} releases; raise {loss.table}.epsilon or lower {loss.counted_by}"
        )
    return Scale(clip=clip, radius=radius)


def subtract_rounding(loss: Loss, numbers: int) -> Loss:
    """Return what true Gaussian noise must keep, so that `numbers` of ours keep a loss.

    Proof. Let η be DISTANCE and γ FACTOR, P and Q the laws of all releases on two neighbouring data
    sets with true noise, n the numbers drawn. Ours differ from them by nη in total variation and
    then by a factor (1 ± γ)^n. So for any set S ours has P'(S) <= (1+γ)^n (P(S) + nη) <= (1+γ)^n
    (e^ε Q(S) + δ + nη), and Q(S) <= (1-γ)^-n Q'(S) + nη: epsilon grows by at most 3nγ, and delta to
    at most (1 + 2nγ) (δ + nη (1 + e^ε)), as long as nγ is small.
    """
    distance, factor = numbers * DISTANCE, numbers * FACTOR
    beside = distance * (1 + math.exp(loss.epsilon))
    return replace(
        loss, epsilon=loss.epsilon - 3 * factor, delta=loss.delta / (1 + 2 * factor) - beside
    )


@numba.njit(nogil=True, cache=True)
def round_to_steps(
    update: NDArray[np.floating], per_unit: float, steps: NDArray[np.int64]
) -> np.int64:
    """Write the nearest whole number of steps of each value, and return the sum of their
    squares.
    """
    squares = np.int64(0)
    for i in range(update.size):
        steps[i] = np.int64(np.rint(update[i] * per_unit))
        squares += steps[i] * steps[i]
    return squares


@numba.njit(nogil=True, cache=True)
def shorten(steps: NDArray[np.int64], factor: float) -> None:
    """Scale whole numbers and cut them towards zero, in place."""
    for i in range(steps.size):
        steps[i] = np.int64(np.trunc(steps[i] * factor))
