"""What every one of our own contenders needs: an agreement, and rounds of its own functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.rows import DRAWS
from tacit import codecs, plan
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.train import Train
from tacit.protocol.round import State
from tacit.protocol.site import Site
from tacit.rows import Vector
from tacit.simulation.carrier import Simulation
from tacit.training import Learner


def agreed(dim: int, settings: plan.Codec) -> Agreement:
    """The agreement of a benchmark run."""
    return Agreement(
        run="bench",
        identity="bench",
        dim=dim,
        codec=codecs.build(settings),
        public=DRAWS.publish("public"),
        server=plan.Server(),
    )


class EngineRounds:
    """Rounds over all clients of a learner, as a run does them: the engine's exchange, carrier and
    server step.
    """

    def __init__(
        self, learner: Learner, settings: plan.Codec, clients: int, workers: int, first: Vector
    ) -> None:
        self.learner, self.workers, self.first = learner, workers, first
        agreement = agreed(learner.size, settings)
        self.train, self.cohort = Train(agreement, DRAWS), np.arange(clients)
        self.site = Site(agreement, range(clients), DRAWS, np.ones(clients, np.int64), learner)
        self.reset()

    def reset(self) -> None:
        """Go back to the first model."""
        optimizer = self.train.agreement.optimizer.init(self.first)
        self.state = State(round_no=0, cohort=self.cohort, model=self.first, optimizer=optimizer)

    @property
    def model(self) -> Vector:
        """The current model."""
        assert self.state.model is not None
        return self.state.model

    def round(self, carrier: Simulation) -> None:
        """Run one round."""
        self.state = replace(self.state, round_no=self.state.round_no + 1)
        gathered = carrier.carry(
            self.train, self.train.build_request(self.state), lambda done: None
        )
        self.state = self.train.close(self.state, gathered.total).state
