"""Denoise a model: soft-threshold its weights towards their initial values, by a multiple of the
known noise.

This is post-processing of a noisy model, so it costs no privacy. Most weights of a wide model hold
little but noise, and these go to zero.
"""

from __future__ import annotations

import numpy as np

from tacit.rows import Vector


def soften_model(model: Vector, first: Vector, threshold: float) -> Vector:
    """Move each weight towards its initial value by `threshold`, at most to it."""
    least, moved = np.float32(threshold), model - first
    return np.asarray(
        first + np.sign(moved) * np.maximum(np.abs(moved) - least, np.float32(0)), np.float32
    )
