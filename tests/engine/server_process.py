"""A server in a process of its own: it is given public terms and lines to the sites, and nothing else."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from tacit import codec, engine, plan, record
from tacit.draws import Draws
from tacit.engine import loop
from tacit.engine.agreement import Agreement
from tacit.engine.exchanges import Train, exchanges_of
from tacit.engine.loop import Arm, Desk
from tacit.engine.round import State
from tacit.engine.run_folder import RECORD
from tests.engine.fake_carrier import FakeCarrier, _each
from tests.engine.no_figures import NoFigures


def serve(lines: list[Connection], parent: Connection, job: dict[str, Any], terms: dict[str, Any], folder: str) -> None:
    """Run all rounds, tell the parent what clients can read the last model from, and wait until it looked around."""
    settings, place, draws = plan.parse(job), Path(folder), Draws.from_system()
    agreement = Agreement(
        run=terms["run"], identity=terms["identity"], dim=terms["dim"], codec=codec.build(settings.codec),
        public=Draws(terms["public"]), server=settings.server, largest_weight=terms["largest_weight"],
    )  # fmt: skip
    exchanges = exchanges_of(settings, Train(agreement, draws))
    arm = Arm(name="run", plan=settings, exchanges=exchanges, first=lambda: None, evaluator=NoFigures(), draws=draws)
    desk = Desk(folder=place, writer=record.Writer(place / RECORD, None), observer=engine.Silence())
    with_rows = {name for names in _each(lines, "begin", {}) for name in names}
    carrier = FakeCarrier(lines, agreement, len(with_rows), with_rows)
    after = loop.run_rounds(arm, desk, carrier, loop.begun(arm, desk, len(with_rows)))
    state = State(
        round_no=settings.server.rounds + 1, cohort=np.empty(0, np.int64), model=after.model, optimizer={}, arrays=after.arrays
    )
    head, payload = exchanges[0].ask(state).frame
    parent.send((bytes(head), bytes(payload)))
    parent.recv()
