"""From a plan to rows in clients' hands: data, features and partition, joined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit import data, features
from tacit.draws import Draws
from tacit.plan import Plan
from tacit.rows import Clients, Rows


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Everything a run stands on: training rows in client order, who holds them, the test rows, and how we got there.

    `released` names what was read from clients' rows in the clear to make features of them.
    """

    source: str
    train: Rows
    clients: Clients
    test: Rows
    released: tuple[str, ...]


def prepare(plan: Plan, draws: Draws, given: object | None = None) -> Ground:
    """Return the ground of a run; the same plan and seed give the same ground."""
    table = data.load(plan.data, draws.at("data"), given)
    clients = data.divide(table, plan.data, draws.at("partition"))
    if plan.data.local_test > 0:
        clients, _ = data.hold_out(clients, plan.data.local_test, draws.at("local-test"))
    fitted = features.fit(table.train, table.columns, plan.features)
    train = features.encode(table.train, table.columns, plan.features, fitted).take(clients.order)
    return Ground(
        source=table.source,
        train=train,
        clients=Clients(order=np.arange(len(train)), starts=clients.starts),
        test=features.encode(table.test, table.columns, plan.features, fitted),
        released=fitted.released,
    )
