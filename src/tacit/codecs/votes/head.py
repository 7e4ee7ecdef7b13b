"""Gaussian noise on a last layer that everybody may see, before it leaves its contributor.

The plan states a loss per round, and its privacy unit. `client`: the change of the layer is clipped
to an L2 norm, and replacing all rows changes it by at most twice that. `record`: each row's
gradient is clipped to an L2 norm, so adding or removing one row changes their sum by at most that,
in each of the round's steps. Both are integers before noise is added, and the noise is that of
`gaussian_noise`: no floating-point Gaussian is added anywhere.

Guarantees: the steps of a round together have at most the stated epsilon at delta, and rounds
compose as Gaussian noise does. What leaves is a function of integers with noise; conversion to
floats is post-processing. Values that are not finite count as zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.distributions.gaussian_noise import draw_gaussian
from tacit.codecs.stages.clip import clip_l2
from tacit.codecs.stages.integer_updates import Loss, Scale, choose_scale
from tacit.plan import Filter
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.privacy.claim import Claim, Event, GaussianNoise, Open
from tacit.randomness import ClientDraws, require

Matrix = NDArray[np.float32]
_AT_ONCE = 1 << 18
"""Gradient values that are held at once."""


def choose_noise_scale(settings: Filter, size: int, rounds: int) -> Scale | None:
    """Choose the integers and the noise for heads of `size` parameters; None if the plan asks for
    no noise.

    The noise values of all rounds are counted, since the distribution of each is slightly inexact;
    so the sum over rounds is covered too. Each row is in one batch of a pass, so the passes of a
    round compose, and the batches of a pass do not.
    """
    if settings.epsilon is None or settings.clip is None:
        return None
    match settings.protect:
        case "nothing":
            return None
        case "client":
            steps, times, batches = 1, 2, 1
        case "record":
            assert settings.batch_rows is not None, "a checked plan says how many rows"
            steps, times = settings.epochs, 1
            batches = -(-settings.batch_rows // (settings.batch or settings.batch_rows))
        case _:
            assert_never(settings.protect)
    loss = Loss(
        epsilon=settings.epsilon,
        delta=settings.delta,
        table="filter",
        per="round",
        counted_by="filter.epochs",
    )
    return choose_scale(
        loss, settings.clip, times, releases=steps, numbers=rounds * steps * batches * size
    )


def add_noise_to_change(scale: Scale, change: Matrix, own: ClientDraws) -> Matrix:
    """Clip the change of a head, and add noise that hides all rows of the client."""
    require(own, ClientDraws)
    cut = clip_l2(scale.clip).apply(change.ravel())
    return _convert_to_floats(
        scale, scale.round_to_integers(cut) + draw_gaussian(own, cut.size)
    ).reshape(change.shape)


def add_noise_to_gradients(scale: Scale, rows: Matrix, slopes: Matrix, own: ClientDraws) -> Matrix:
    """Clip each row's gradient, sum them, and add noise that hides one row.

    A row's gradient is its inputs times its slope at each output.
    """
    require(own, ClientDraws)
    total = np.zeros(rows.shape[1] * slopes.shape[1], np.int64)
    block = max(1, _AT_ONCE // total.size)
    for start in range(0, len(rows), block):
        total += round_gradients(
            scale, rows[start : start + block], slopes[start : start + block]
        ).sum(axis=0)
    return _convert_to_floats(scale, total + draw_gaussian(own, total.size)).reshape(
        rows.shape[1], slopes.shape[1]
    )


def add_noise_to_row_gradients(
    scale: Scale, gradients: Iterable[Matrix], size: int, own: ClientDraws
) -> Matrix:
    """Clip each row's gradient, of `size` values, sum them, and add noise that hides one row."""
    require(own, ClientDraws)
    total = np.zeros(size, np.int64)
    for some in gradients:
        total += round_rows(scale, some).sum(axis=0)
    return _convert_to_floats(scale, total + draw_gaussian(own, size))


def round_rows(scale: Scale, gradients: Matrix) -> NDArray[np.int64]:
    """Clip each row of a matrix and round it to integers; none has an L2 norm above the scale's
    radius.
    """
    finite = np.isfinite(gradients).all(axis=1, keepdims=True)
    kept = np.where(finite, gradients, 0).astype(np.float64)
    norms = np.linalg.norm(kept, axis=1, keepdims=True)
    return scale.round_to_integers(kept * (scale.clip / np.maximum(norms, scale.clip)))


def round_gradients(scale: Scale, rows: Matrix, slopes: Matrix) -> NDArray[np.int64]:
    """Clip each row's gradient and round it to integers; none has an L2 norm above the scale's
    radius.
    """
    finite = np.isfinite(rows).all(axis=1, keepdims=True) & np.isfinite(slopes).all(
        axis=1, keepdims=True
    )
    inputs, at_outputs = (np.where(finite, part, 0).astype(np.float64) for part in (rows, slopes))
    norms = np.linalg.norm(inputs, axis=1, keepdims=True) * np.linalg.norm(
        at_outputs, axis=1, keepdims=True
    )
    at_outputs *= scale.clip / np.maximum(norms, scale.clip)
    return scale.round_to_integers(
        (inputs[:, :, None] * at_outputs[:, None, :]).reshape(len(rows), -1)
    )


def _convert_to_floats(scale: Scale, steps: NDArray[np.int64]) -> Matrix:
    # Noise is floored, which lowers it by half a step on average.
    return np.asarray((steps + 0.5) * scale.step, np.float32)


def build_head_claim(settings: Filter) -> Claim:
    """Claim about one head of a contributor."""
    part = "last layer" if settings.layers == 1 else f"last {settings.layers} layers"
    kind = {
        "nothing": f"{part} in the clear",
        "client": f"clipped {part} with Gaussian noise",
        "record": f"{part} with Gaussian noise on the sum of clipped gradients of its rows",
    }[settings.protect]
    # A party that guesses an encoded update can test the guess by the digest, which depends on
    # nothing else.
    digest = ", with a digest of the update, which only the update's own codec protects"
    event: Event = Open()
    if settings.epsilon is not None:
        event = GaussianNoise(calibrate_multiplier(settings.epsilon, settings.delta))
    return Claim(
        mechanism=f"{kind}, sent to all testers{digest if settings.aggregate == 'updates' else ''}",
        event=event,
        unit="head",
        relation=(
            "add or remove one row"
            if settings.protect == "record"
            else "replace all rows of one client"
        ),
        view="everyone",
        trust=(
            ("all testers",)
            if settings.protect == "nothing"
            else ("nobody, since the client adds noise before anything leaves",)
        ),
        rests_on="nobody",
        source=(
            "Balle and Wang 2018, integer noise; after Rokvic et al., who state neither clip nor"
            " noise"
        ),
    )
