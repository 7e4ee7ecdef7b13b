"""Denoise a model: soft-threshold its weights towards their initial values, by a multiple of the
known noise.

This is post-processing of a noisy model, so it costs no privacy. Most weights of a wide model hold
little but noise, and these go to zero.
"""

from __future__ import annotations

import numpy as np

from tacit import plan
from tacit.rows import Vector


def soften_model(
    settings: plan.Server, model: Vector, first: Vector, noise: float, rounds: int
) -> Vector:
    """Move each weight towards its initial value by `soften` standard deviations of its noise, at
    most to it.

    `noise` is the standard deviation of the noise in each coordinate of a round's mean update.
    """
    least = np.float32(settings.soften * compute_noise_after(settings, noise, rounds))
    moved = model - first
    return np.asarray(
        first + np.sign(moved) * np.maximum(np.abs(moved) - least, np.float32(0)), np.float32
    )


def compute_noise_after(settings: plan.Server, noise: float, rounds: int) -> float:
    """The noise standard deviation of each weight after some rounds of averaging, with or without
    momentum.
    """
    decay = settings.momentum if settings.optimizer == "momentum" else 0.0
    # How far the noise of a round has moved a weight by now, the last round first.
    reach = (1 - decay ** np.arange(1, rounds + 1)) / (1 - decay)
    return float(settings.lr * noise * np.sqrt(np.square(reach).sum()))
