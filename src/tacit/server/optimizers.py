"""Server optimisers: they treat the mean update of a round as a gradient step.

A round's model changes here and nowhere else. The noise of a mean update is in it already: the
codec adds it when it decodes the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from tacit import plan
from tacit.rows import Vector

ServerState = dict[str, Vector]
"""What the optimiser remembers between rounds, by name; empty for plain averaging."""

FIRST = "first"
"""Name of the model before the first round, in the state of an optimiser whose released model is
softened.
"""

_SECOND_MOMENT_DECAY = np.float32(0.99)
_TINY = np.float32(1e-3)


@dataclass(frozen=True, kw_only=True)
class ServerOptimizer:
    """The server's optimiser, as three functions.

    `init(model)` is the state before the first round. `update(model, mean, state)` takes one step
    along the mean update: it computes the next model and state, and keeps arrays of the state that
    are not its own. `noise(stddev, rounds)` is the standard deviation of the noise in each weight
    after some rounds, if the mean update of each round has independent noise of `stddev`; None
    where a step is not linear in the mean update.
    """

    init: Callable[[Vector], ServerState]
    update: Callable[[Vector, Vector, ServerState], tuple[Vector, ServerState]]
    noise: Callable[[float, int], float] | None = None


def build_optimizer(settings: plan.Server) -> ServerOptimizer:
    """Build the optimiser of a plan. One without an implementation fails here, when a run is built."""
    made = _build(settings)
    return _keep_first(made) if settings.soften else made


def _build(settings: plan.Server) -> ServerOptimizer:
    match settings.optimizer:
        case "sgd":
            return _build_sgd(settings)
        case "momentum":
            return _build_momentum(settings)
        case "adam":
            return _build_adaptive(settings, _average_square)
        case "yogi":
            return _build_adaptive(settings, _approach_square)
        case _:
            assert_never(settings.optimizer)


def _keep_first(inner: ServerOptimizer) -> ServerOptimizer:
    """The same optimiser, whose state also holds the first model."""
    return ServerOptimizer(
        init=lambda model: {FIRST: model.copy(), **inner.init(model)},
        update=inner.update,
        noise=inner.noise,
    )


def _build_sgd(settings: plan.Server) -> ServerOptimizer:
    lr = np.float32(settings.lr)

    def update(model: Vector, mean: Vector, state: ServerState) -> tuple[Vector, ServerState]:
        return model + lr * mean, state

    return ServerOptimizer(
        init=lambda model: {}, update=update, noise=_accumulate_noise(settings.lr, 0.0)
    )


def _build_momentum(settings: plan.Server) -> ServerOptimizer:
    lr, decay = np.float32(settings.lr), np.float32(settings.momentum)

    def update(model: Vector, mean: Vector, state: ServerState) -> tuple[Vector, ServerState]:
        velocity = decay * state["mean"] + mean
        return model + lr * velocity, {**state, "mean": velocity}

    return ServerOptimizer(
        init=lambda model: {"mean": np.zeros_like(model)},
        update=update,
        noise=_accumulate_noise(settings.lr, settings.momentum),
    )


def _build_adaptive(
    settings: plan.Server, next_square: Callable[[Vector, Vector], Vector]
) -> ServerOptimizer:
    """Steps divided by the root of a second moment.

    Source: Reddi et al. 2021 (Adaptive Federated Optimization), second moment decay .99, stabiliser
    1e-3.
    """
    lr, decay = np.float32(settings.lr), np.float32(settings.momentum)

    def update(model: Vector, mean: Vector, state: ServerState) -> tuple[Vector, ServerState]:
        square = next_square(state["square"], mean * mean)
        average = decay * state["mean"] + (1 - decay) * mean
        move = lr * average / (np.sqrt(square) + _TINY)
        return model + move.astype(np.float32), {**state, "mean": average, "square": square}

    return ServerOptimizer(
        init=lambda model: {"mean": np.zeros_like(model), "square": np.zeros_like(model)},
        update=update,
    )


def _average_square(square: Vector, fresh: Vector) -> Vector:
    """Adam: an exponential moving average of the squares."""
    return _SECOND_MOMENT_DECAY * square + (1 - _SECOND_MOMENT_DECAY) * fresh


def _approach_square(square: Vector, fresh: Vector) -> Vector:
    """Yogi: a step towards the new square, whose size depends on the new square alone."""
    step: Vector = (1 - _SECOND_MOMENT_DECAY) * fresh * np.sign(square - fresh)
    return square - step


def _accumulate_noise(lr: float, decay: float) -> Callable[[float, int], float]:
    """Build the function from the noise of each mean update to that of a weight after some rounds,
    with or without momentum.
    """

    def noise(stddev: float, rounds: int) -> float:
        # How far the noise of a round has moved a weight by now, the last round first.
        reach = (1 - decay ** np.arange(1, rounds + 1)) / (1 - decay)
        return float(lr * stddev * np.sqrt(np.square(reach).sum()))

    return noise
