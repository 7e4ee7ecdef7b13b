"""The server optimiser: it treats the cohort's mean update as a gradient step."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from tacit import plan
from tacit.rows import Vector

ServerState = dict[str, Vector]
"""What the optimiser remembers between rounds, by name; empty for plain averaging."""

_SECOND_MOMENT_DECAY = np.float32(0.99)
_TINY = np.float32(1e-3)


FIRST = "first"
"""The model before the first round, where the one that is kept is pulled towards it."""


def initial_state(settings: plan.Server, model: Vector) -> ServerState:
    """The optimiser's state before the first round."""
    names = {
        "sgd": (),
        "momentum": ("mean",),
        "adam": ("mean", "square"),
        "yogi": ("mean", "square"),
    }
    first = {FIRST: model.copy()} if settings.soften else {}
    return {**first, **{name: np.zeros_like(model) for name in names[settings.optimizer]}}


def step(
    settings: plan.Server, model: Vector, update: Vector, state: ServerState
) -> tuple[Vector, ServerState]:
    """Compute the next model and optimiser state.

    Source: adaptive forms as in Reddi et al. 2021 (Adaptive Federated Optimization), second moment
    decay .99, stabiliser 1e-3.
    """
    lr, decay = np.float32(settings.lr), np.float32(settings.momentum)
    match settings.optimizer:
        case "sgd":
            return model + lr * update, state
        case "momentum":
            mean = decay * state["mean"] + update
            return model + lr * mean, {**state, "mean": mean}
        case "adam":
            square, fresh = state["square"], update * update
            square = _SECOND_MOMENT_DECAY * square + (1 - _SECOND_MOMENT_DECAY) * fresh
        case "yogi":
            square, fresh = state["square"], update * update
            square = square - (1 - _SECOND_MOMENT_DECAY) * fresh * np.sign(square - fresh)
        case _:
            assert_never(settings.optimizer)
    mean = decay * state["mean"] + (1 - decay) * update
    move = lr * mean / (np.sqrt(square) + _TINY)
    return model + move.astype(np.float32), {**state, "mean": mean, "square": square}
