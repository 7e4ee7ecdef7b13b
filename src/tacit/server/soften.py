"""A model with less of its noise: weights are pulled towards where they began, by a part of the
noise that is known to be in them.

Post-processing of a noisy model, so it costs nothing. Most weights of a wide model hold little but
noise, and these go to zero.
"""

from __future__ import annotations

import numpy as np

from tacit import plan
from tacit.rows import Vector


def softened(
    settings: plan.Server, model: Vector, first: Vector, noise: float, rounds: int
) -> Vector:
    """Return the model with each weight moved towards its first value by `soften` standard
    deviations of its noise, at most to it.

    `noise` is the standard deviation of what every round's mean update has in each coordinate.
    """
    least = np.float32(settings.soften * noise_after(settings, noise, rounds))
    moved = model - first
    return np.asarray(
        first + np.sign(moved) * np.maximum(np.abs(moved) - least, np.float32(0)), np.float32
    )


def noise_after(settings: plan.Server, noise: float, rounds: int) -> float:
    """Return the standard deviation of the noise in each weight after some rounds of averaging,
    with momentum or without.
    """
    decay = settings.momentum if settings.optimizer == "momentum" else 0.0
    # How far the noise of a round has moved a weight by now, the last round first.
    reach = (1 - decay ** np.arange(1, rounds + 1)) / (1 - decay)
    return float(settings.lr * noise * np.sqrt(np.square(reach).sum()))
