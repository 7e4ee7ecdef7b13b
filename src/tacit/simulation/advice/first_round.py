"""The first round of a plan up to the server's request; nothing is sent or stored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit import server
from tacit.errors import PlanError
from tacit.plan import Plan
from tacit.protocol.loop import Desk
from tacit.protocol.observer import Silence
from tacit.protocol.round import Names, Request, State
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.record import RUN
from tacit.simulation.arm import Setting, SimulatedArm
from tacit.simulation.fingerprint import compute_data_fingerprints
from tacit.simulation.prepared_rows import SimulatedData, prepare


class FirstRound(NamedTuple):
    """A plan's rows, its arm, the state at the start of its first round, and the server's request
    to all clients.
    """

    data: SimulatedData
    arm: SimulatedArm
    state: State
    request: Request

    def cohort(self) -> Names:
        """The clients that are sampled in this round and have rows."""
        site = self.arm.site
        chosen = server.choose_cohort(
            self.arm.plan.server, len(site.names), self.arm.arm.draws.at("cohort", 1)
        )
        return chosen[site.weights[chosen] > 0]


@contextmanager
def first_round(plan: Plan) -> Iterator[FirstRound]:
    """Yield the first round of a plan; raise PlanError if no client sends anything."""
    if plan.regime != "federated":
        raise PlanError(
            f"regime = {plan.regime!r} sends no messages: rows stay where they are, or are all in"
            " one place"
        )
    draws = Draws.seeded(plan.seed)
    data = prepare(plan, draws)
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept) / "run-1"  # a message contains the name of its run
        folder.mkdir()
        writer = record.Writer(folder / "record.jsonl")
        desk = Desk(
            folder=folder,
            writer=writer,
            observer=Silence(),
            fingerprints=compute_data_fingerprints(plan, data),
        )
        try:
            arm = SimulatedArm(Setting(desk=desk, draws=draws, data=data), RUN, plan)
            model = arm.arm.first()
            optimizer = arm.agreement.optimizer.init(model) if model is not None else {}
            state = State(
                round_no=1, cohort=np.arange(len(arm.site.names)), model=model, optimizer=optimizer
            )
            yield FirstRound(data, arm, state, arm.exchanges[0].build_request(state))
        finally:
            writer.close()
