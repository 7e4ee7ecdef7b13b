"""Training on numeric rows given in Python, as in any run, in a temporary folder."""

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
"""Rows that a model reads at once."""
_NOBODY = Clients(order=np.empty(0, np.int64), starts=np.zeros(1, np.int64))


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Encoded rows and their clients. Features need no statistics of them, so nothing is released."""

    rows: Rows
    clients: Clients

    def as_data(self, settings: Features) -> SimulatedData:
        """The data of a simulated run without test rows: the caller evaluates the model."""
        rows = replace(self.rows, inputs=features.scale_rows(self.rows.inputs, settings))
        train = rows.take(self.clients.order)
        holders = Clients(order=np.arange(len(train)), starts=self.clients.starts)
        return SimulatedData(
            source=f"Numbers given in Python: {len(train):,} train rows; none were held out.",
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
    """A model trained on numeric rows, without these rows, and the record of the run."""

    plan: Plan
    module: object | None
    vector: Vector
    classes: tuple[str, ...]
    entries: tuple[Entry, ...]

    def probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        """The probability of each class, one line per row.

        Guarantees: a row's line is the same to the bit, regardless of the other rows in the call.
        """
        # The block size determines the order of summation, so all blocks are full, the
        # last one padded with its last row.
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
    """Run the plan on the numbers; the folder is removed, and the record is kept in memory."""
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
