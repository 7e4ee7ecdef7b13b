"""Clipping: guaranteed bounds on one client's update, before anything else happens to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tacit.codecs.contract import Bound
from tacit.codecs.stages.chain import Stage
from tacit.norms import sum_squares
from tacit.rows import Vector


def clip_largest(clip: float) -> Stage:
    """Clip every coordinate to ±clip. NaN counts as 0."""
    return Stage(
        name=f"clip_largest({clip:g})",
        apply=lambda update: clip_to_box(update, clip),
        bound=lambda before: replace(before, largest=min(before.largest, clip)),
    )


def clip_l1(ball: float) -> Stage:
    """Scale an update to an L1 norm of at most `ball`."""
    return Stage(
        name=f"clip_l1({ball:g})",
        apply=lambda update: _clip_to_ball(update, ball, 1),
        bound=_bound_l1(ball),
    )


def clip_l2(ball: float) -> Stage:
    """Clip an update to L2 norm `ball`."""
    return Stage(
        name=f"clip_l2({ball:g})",
        apply=lambda update: _clip_to_ball(update, ball, 2),
        bound=lambda before: replace(
            before, l2=min(before.l2, ball), largest=min(before.largest, ball)
        ),
    )


def clip_to_box(update: Vector, clip: float) -> Vector:
    """Clip every coordinate to ±clip; NaN becomes 0."""
    return np.clip(np.nan_to_num(update, nan=0.0, posinf=clip, neginf=-clip), -clip, clip)


def _bound_l1(ball: float) -> Callable[[Bound], Bound]:
    def after(before: Bound) -> Bound:
        return replace(
            before,
            l1=min(before.l1, ball),
            l2=min(before.l2, ball),
            largest=min(before.largest, ball),
        )

    return after


def _clip_to_ball(update: Vector, ball: float, order: int) -> Vector:
    """Scale an update into a ball, up to float32 rounding; an update that is not finite becomes
    zero.
    """
    norm = (
        float(np.abs(update).sum(dtype=np.float64))
        if order == 1
        else math.sqrt(sum_squares(update))
    )
    if not np.isfinite(norm):
        return np.zeros_like(update)
    if norm <= ball:
        return update
    factor = ball / norm
    if (
        factor < np.finfo(np.float32).tiny
    ):  # as a float32 it would lose digits, and the bound would not hold
        return np.asarray(update.astype(np.float64) * factor, np.float32)
    return np.asarray(update * np.float32(factor), np.float32)
