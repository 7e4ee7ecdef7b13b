"""How much noise keeps a stated loss for a whole run, and updates as whole numbers whose length is certain.

The plan states epsilon and delta for the run. Gaussian releases of all rounds together cost exactly what one with less noise
costs (`gaussian_loss`), so the multiplier of a round is that of one release times the root of the number of rounds: a client
that answers every round is covered. What sampling of clients would gain is not claimed.

Source: analytic calibration, Balle and Wang 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.codec.contract import Extent
from tacit.codec.gaussian_noise import DISTANCE, FACTOR, STEPS, whole_noise
from tacit.draws import Draws
from tacit.errors import ChainError
from tacit.gaussian_loss import multiplier_for
from tacit.rows import Vector


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Whole numbers for updates of length `clip`: no update is longer than `radius` steps, and noise has `steps` of them to one
    standard deviation."""

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

    def coarser(self, halvings: int) -> Scale:
        """Return a scale whose steps are 2^halvings times as large; noise is never smaller for it, measured in clips."""
        return replace(self, radius=self.radius >> halvings, steps=self.steps >> halvings)

    def noise(self, own: Draws, count: int) -> NDArray[np.int64]:
        """Return `count` numbers of noise: the floor of Gaussian noise, for the floor of a floor in larger steps is one again."""
        return whole_noise(own, count) // (STEPS // self.steps)

    def whole(self, update: Vector) -> NDArray[np.int64]:
        """Return an update of a length of about `clip` or less as whole steps.

        Guarantees: the squares add up to at most radius², in whole numbers. Rounding may make an update longer; then it is
        scaled and cut towards zero.
        """
        steps = np.rint(update.astype(np.float64) / self.step).astype(np.int64)
        squares = int(np.square(steps).sum())
        if squares <= self.radius**2:
            return steps
        factor = self.radius / (math.isqrt(squares) + 1) * (1 - 2**-40)
        return np.asarray(np.trunc(steps * factor), np.int64)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What a plan states for the whole run."""

    epsilon: float
    delta: float


def scale_for(loss: Loss, extent: Extent, clip: float, times: int, dim: int) -> Scale:
    """Return the scale at which noise of one standard deviation keeps a loss, if a change of data moves a sum by `times` clips.

    Raises ChainError if there is more noise than whole numbers can hold, or more rounds and parameters than it is fine enough for.
    """
    left = _less_rounding(loss, extent.rounds * dim)
    if left.delta < loss.delta / 2 or left.epsilon < loss.epsilon / 2:
        raise ChainError(
            f"codec(epsilon={loss.epsilon:g} per run, delta={loss.delta:g}) needs noise finer than it is drawn, with {dim:,} "
            f"parameters and {extent.rounds:,} rounds; raise codec.delta, or lower codec.epsilon"
        )
    multiplier = multiplier_for(left.epsilon, left.delta) * math.sqrt(extent.rounds)
    radius = math.floor(STEPS / (times * multiplier))
    if radius < 1:
        raise ChainError(
            f"codec(epsilon={loss.epsilon:g} per run) needs a noise multiplier below {STEPS // times:,}, got {multiplier:,.0f} "
            f"with {extent.rounds:,} rounds; raise codec.epsilon or lower server.rounds"
        )
    return Scale(clip=clip, radius=radius)


def _less_rounding(loss: Loss, numbers: int) -> Loss:
    """Return what true Gaussian noise must keep, so that `numbers` of ours keep a loss.

    Proof. Let η be DISTANCE and γ FACTOR, P and Q the laws of a whole run on two neighbouring data sets with true noise, n the
    numbers drawn. Ours differ from them by nη in total variation and then by a factor (1 ± γ)^n. So for any set S ours has
    P'(S) <= (1+γ)^n (P(S) + nη) <= (1+γ)^n (e^ε Q(S) + δ + nη), and Q(S) <= (1-γ)^-n Q'(S) + nη: epsilon grows by at most 3nγ,
    and delta to at most (1 + 2nγ) (δ + nη (1 + e^ε)), as long as nγ is small.
    """
    distance, factor = numbers * DISTANCE, numbers * FACTOR
    beside = distance * (1 + math.exp(loss.epsilon))
    return Loss(epsilon=loss.epsilon - 3 * factor, delta=loss.delta / (1 + 2 * factor) - beside)
