"""What every one of our own contenders needs: the engine's terms, and rounds of its own functions."""

from __future__ import annotations

import numpy as np

from bench.rows import DRAWS
from tacit import codec, plan, server
from tacit.engine import embedded
from tacit.engine.round import Terms, model_message, server_half
from tacit.local import Learner
from tacit.rows import Vector


def terms(dim: int, settings: plan.Codec) -> Terms:
    """Return the terms of a bench run."""
    return Terms(run="bench", dim=dim, codec=codec.build(settings), draws=DRAWS.at("rounds"), public=DRAWS.at("public"))


class Rounds:
    """Rounds over all clients of a learner, as a run does them: the engine's crew, sums and server step."""

    def __init__(self, learner: Learner, settings: plan.Codec, clients: int, workers: int, first: Vector) -> None:
        self.learner, self.workers, self.first = learner, workers, first
        self.terms = terms(learner.size, settings)
        self.server, self.cohort, self.weights = plan.Server(), np.arange(clients), np.ones(clients, np.int64)
        self.reset()

    def reset(self) -> None:
        """Go back to the first model."""
        self.model, self.state, self.round_no = self.first, server.initial_state(self.server, self.learner.size), 0

    def round(self, work: embedded.Work) -> None:
        """Run one round."""
        self.round_no += 1
        model_message(self.terms, self.round_no, self.model)
        share = embedded.sum_cohort(
            work, self.terms, self.model, self.round_no, self.cohort, self.weights, self.workers, lambda done: None
        )
        self.model, self.state = server_half(self.server, self.terms, self.model, share.total, self.state)
