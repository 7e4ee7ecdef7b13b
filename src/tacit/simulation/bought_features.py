"""The arm of a simulated run that buys what features need, before the plan's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit import data
from tacit.assembly.feature_sources import FeatureSources
from tacit.assembly.queries.bought_features import Answers, build_feature_plan
from tacit.assembly.rows import encode_tables
from tacit.features import Fitted
from tacit.plan import Plan
from tacit.randomness import Draws
from tacit.rows import Clients
from tacit.runs import record
from tacit.runs.record import FEATURES, Answered, Entry
from tacit.simulation.prepared_rows import SimulatedData, load_divided_table


@dataclass(frozen=True, kw_only=True)
class FeaturePurchase:
    """The queries of a run's features, the cells they read, and the roles of the columns."""

    plan: Plan
    cells: SimulatedData
    table: data.Table


def prepare_purchase(
    plan: Plan, draws: Draws, input_rows: object | None, progress: data.Progress | None
) -> FeaturePurchase | None:
    """Prepare the queries about the rows that clients train on; None if the plan states everything."""
    table, kept = load_divided_table(plan, draws, input_rows, progress)
    asked = build_feature_plan(plan, table.columns)
    if asked is None:
        return None
    nothing = Fitted(classes=(), ranges={}, categories={})
    (cells,), _, _ = encode_tables(asked, table.columns, (table.train,), nothing, FeatureSources())
    train, clients = cells.take(kept.order), kept.in_place()
    nobody = Clients(order=np.zeros(0, np.int64), starts=np.zeros(1, np.int64))
    return FeaturePurchase(
        plan=asked,
        table=table,
        cells=SimulatedData(
            source=table.source,
            train=train,
            clients=clients,
            test=train.take(nobody.order),
            own=train,
            own_clients=clients,
            released=(),
            fitted=nothing,
            columns=table.columns,
        ),
    )


def find_answers(entries: list[Entry]) -> Answers:
    """The answers that a record holds for features."""
    found = record.select_entries(entries, Answered, FEATURES)
    return found[-1].answers if found else ()
