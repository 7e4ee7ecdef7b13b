"""Clipping: how much one client's update can weigh, made certain before anything else happens to
it.
"""

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
    """Return the stage that keeps every coordinate within ±clip. NaN counts as no change."""
    return Stage(
        name=f"clip_largest({clip:g})",
        apply=lambda update: clip_to_box(update, clip),
        bound=lambda before: replace(before, largest=min(before.largest, clip)),
    )


def clip_l1(ball: float) -> Stage:
    """Return the stage that scales an update so that its absolute values add up to at most
    `ball`.
    """
    return Stage(
        name=f"clip_l1({ball:g})",
        apply=lambda update: _clip_to_ball(update, ball, 1),
        bound=_bound_l1(ball),
    )


def clip_l2(ball: float) -> Stage:
    """Return the stage that scales an update to a length of at most `ball`."""
    return Stage(
        name=f"clip_l2({ball:g})",
        apply=lambda update: _clip_to_ball(update, ball, 2),
        bound=lambda before: replace(
            before, l2=min(before.l2, ball), largest=min(before.largest, ball)
        ),
    )


def clip_to_box(update: Vector, clip: float) -> Vector:
    """Return the update with every coordinate within ±clip."""
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
    """Return the update scaled into a ball, up to float32 rounding; what is not finite makes all of
    it count as no change.
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
    ):  # as a float32 it would have lost digits, and the bound with them
        return np.asarray(update.astype(np.float64) * factor, np.float32)
    return np.asarray(update * np.float32(factor), np.float32)
