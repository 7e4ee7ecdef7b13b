"""The local-only baseline: every client trains by itself, nothing is shared, and the figures are averaged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit import local, server
from tacit.draws import Draws
from tacit.engine.arms import alone_settings
from tacit.engine.prepare import Ground
from tacit.plan import Plan


def measure_alone(
    plan: Plan, ground: Ground, initial: Draws, draws: Draws, module: object | None, tick: Callable[[int], None]
) -> dict[str, float]:
    """Return the mean over clients of each figure on the common test rows."""
    settings = alone_settings(plan, len(ground.clients))
    learner = local.build(plan.model, settings, ground.train, ground.clients, module)
    first, worker = learner.initial(initial), learner.worker()
    figures = []
    for client in range(len(ground.clients)):
        update = worker.train(first, client, draws.at(1, client).at("train"))
        logits = learner.predict(first + update.row, ground.test.inputs)
        figures.append(server.measure(logits, ground.test.labels))
        tick(client + 1)
    return {name: float(np.mean([figure[name] for figure in figures])) for name in figures[0]}
