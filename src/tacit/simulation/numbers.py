"""Rows that are numbers already, from Python: trained on as in any run, in a folder that is gone
afterwards.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit import features, training
from tacit import plan as plans
from tacit.models.predict import to_probabilities
from tacit.plan import Columns, Features, Plan
from tacit.protocol.observer import Observer, Silence
from tacit.rows import Clients, Inputs, Rows, Vector
from tacit.runs import run_folder
from tacit.runs.record import Entry
from tacit.simulation.prepared_rows import SimulatedData

_BLOCK = 512
"""How many rows a model reads at a time."""
_NOBODY = Clients(order=np.empty(0, np.int64), starts=np.zeros(1, np.int64))


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Encoded rows and who holds them. Nothing has to be read from them to make features, so
    nothing is released for that.
    """

    rows: Rows
    clients: Clients

    def as_data(self, settings: Features) -> SimulatedData:
        """Return the data of a simulated run without test rows: whoever has numbers measures
        elsewhere.
        """
        rows = replace(self.rows, inputs=features.scale_rows(self.rows.inputs, settings))
        train = rows.take(self.clients.order)
        holders = Clients(order=np.arange(len(train)), starts=self.clients.starts)
        return SimulatedData(
            source=f"Numbers handed over in Python: {len(train):,} train rows; none were held out.",
            train=train,
            clients=holders,
            test=rows.take(np.empty(0, np.int64)),
            own=train,
            own_clients=holders,
            released=(),
            fitted=features.Fitted(classes=rows.classes, ranges={}, categories={}),
            columns=Columns(),
        )


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A model made from numbers, without the rows it was made from, and the record of how."""

    plan: Plan
    module: object | None
    vector: Vector
    classes: tuple[str, ...]
    entries: tuple[Entry, ...]

    def probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return one line per row with the probability of each class.

        Guarantees: a row's line is the same to the bit, whichever other rows are asked about with
        it.
        """
        # Sums over blocks of other sizes are made in another order; so all blocks are full, the
        # last one with its last row.
        whole = -(-len(inputs) // _BLOCK) * _BLOCK
        seen = features.scale_rows(
            inputs.take(np.minimum(np.arange(whole), len(inputs) - 1)), self.plan.features
        )
        none = Rows(
            inputs=seen.take(np.empty(0, np.int64)),
            labels=np.empty(0, np.int32),
            classes=self.classes,
        )
        learner = training.build(self.plan.model, self.plan.local, none, _NOBODY, self.module)
        return to_probabilities(learner.predict(self.vector, seen)[: len(inputs)])


def train_numbers(
    plan: Plan, numbers: Numbers, module: object | None = None, observer: Observer | None = None
) -> Trained:
    """Return what a run of the plan makes of the numbers; its folder is removed, its record is kept
    in memory.
    """
    from tacit.simulation.job import Job

    plans.check(plan)
    with tempfile.TemporaryDirectory(prefix="tacit-") as root:
        place = run_folder.create(plan, Path(root))
        with run_folder.lock(place):
            job = Job(place, plan, observer or Silence(), numbers, module, allow_code=True)
            job.run()
        assert job.model is not None, "a run from its start trains its own arm"
        entries = tuple(run_folder.entries(place))
    return Trained(
        plan=plan, module=module, vector=job.model, classes=numbers.rows.classes, entries=entries
    )
