"""The local-only regime: every client trains by itself, nothing leaves it, and the figures are averaged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit import local, server
from tacit.draws import Draws
from tacit.engine.baselines import local_only_settings
from tacit.engine.simulated_data import SimulatedData
from tacit.plan import Plan
from tacit.rows import Vector
from tacit.seat import Own, Seat


def measure_local_only(
    plan: Plan, data: SimulatedData, draws: Draws, first: Vector, module: object | None, tick: Callable[[int], None]
) -> dict[str, float]:
    """Return the mean over clients of each figure on the common test rows; all begin with the same first model."""
    settings = local_only_settings(plan, len(data.clients))
    learner = local.build(plan.model, settings, data.train, data.clients, module)
    worker, figures = learner.worker(), []
    for client in range(len(data.clients)):
        seat = Seat(client, client, Own(draws, client))
        update = worker.train(first, seat, seat.own.train(1))
        logits = learner.predict(first + update.row, data.test.inputs)
        figures.append(server.measure(logits, data.test.labels))
        tick(client + 1)
    return {name: float(np.mean([figure[name] for figure in figures])) for name in figures[0]}
