"""The answers of a run with queries: read from the sums of each round, alike for a simulation and a run
between sites.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tacit import codecs, training
from tacit.assembly.queries.learner import StatisticsLearner
from tacit.errors import RunError
from tacit.plan import Plan
from tacit.protocol.loop import Evaluation, History
from tacit.protocol.round import State
from tacit.rows import Vector
from tacit.runs import record
from tacit.statistics import build_layout

_SUMS = "sums after round"


class AnswerReader:
    """Keeps the sums of each round, and reads the answers from them after the last one. It reads no
    rows, so it releases nothing.
    """

    def __init__(self, learner: StatisticsLearner, arm: str) -> None:
        self.learner, self.arm = learner, arm

    def after_round(self, model: Vector, state: State, history: History) -> Evaluation:
        """Keep the sums of this round."""
        kept = {f"{_SUMS} {state.round_no}": self.learner.to_sums(model)}
        return Evaluation(history={**history, **kept})

    def at_the_end(self, model: Vector, rounds: int, history: History) -> Evaluation:
        """The answers, as an entry of the record; raise RunError if a round was lost."""
        after = [history[f"{_SUMS} {number}"] for number in range(1, rounds + 1)]
        sums = [after[0], *(now - then for then, now in pairwise(after))]
        if self.learner.stddev and not all(one.any() for one in sums):
            raise RunError(
                "a round was lost, so the queries have no answers; what was charged stays charged;"
                " start the plan as a new run"
            )
        answers = self.learner.layout.answer([np.asarray(one) for one in sums], self.learner.stddev)
        entry = record.Answered(arm=self.arm, answers=[answer.to_json() for answer in answers])
        return Evaluation(entries=[entry])


def build_answer_reader(learner: training.Learner, arm: str) -> AnswerReader:
    """Build the reader of a run whose learner is that of queries."""
    assert isinstance(learner, StatisticsLearner), "queries have a learner of their own"
    return AnswerReader(learner, arm)


def describe_planned_noise(plan: Plan) -> dict[str, str]:
    """Each query of a plan by name, with the standard deviation of the noise on a count of it."""
    assert plan.statistics is not None, "a plan without queries answers none"
    layout, clients = build_layout(plan.statistics), plan.data.clients
    codec = codecs.build(plan.codec, codecs.Extent.of(plan, clients, (layout.size,)))
    stddev = 0.0 if codec.sum_noise is None else codec.sum_noise(layout.size)
    nothing = [np.zeros(layout.size)] * plan.server.rounds
    return {
        answer.name: f"{answer.query} (noise on a count: σ = {answer.noise:.3g})"
        for answer in layout.answer(nothing, stddev)
    }
