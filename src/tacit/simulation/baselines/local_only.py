"""The local-only regime: every client trains alone and sends nothing; metrics are averaged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit import server, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.plan import Plan
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.simulation.baselines.arms import local_only_settings
from tacit.simulation.prepared_rows import SimulatedData


def measure_local_only(
    plan: Plan,
    data: SimulatedData,
    draws: Draws,
    first: Vector,
    module: object | None,
    tick: Callable[[int], None],
) -> dict[str, float]:
    """The mean over clients of each metric on the common test rows; all start from the same initial
    model.
    """
    settings = local_only_settings(plan, len(data.clients))
    learner = training.build(plan.model, settings, data.train, data.clients, module)
    worker, figures = learner.worker(), []
    for client in range(len(data.clients)):
        slot = ClientSlot(client, client, ClientRandomness(draws, client))
        update = worker.train(first, slot, slot.own.train(1))
        logits = learner.predict(first + update.row, data.test.inputs)
        figures.append(server.measure(logits, data.test.labels))
        tick(client + 1)
    return {name: float(np.mean([figure[name] for figure in figures])) for name in figures[0]}
