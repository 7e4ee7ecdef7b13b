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

    `own` are rows of each client on which the model is tried for that client alone: rows held out at the client if the
    plan asks for that, else its training rows. `released` names what was read from clients' rows in the clear to make
    features of them.
    """

    source: str
    train: Rows
    clients: Clients
    test: Rows
    own: Rows
    own_clients: Clients
    released: tuple[str, ...]


def prepare(plan: Plan, draws: Draws, given: object | None = None, progress: data.Progress | None = None) -> Ground:
    """Return the ground of a run; the same plan and seed give the same ground."""
    table = data.load(plan.data, draws.at("data"), given, progress=progress)
    clients = data.divide(table, plan.data, draws.at("partition"))
    fitted = features.fit(table.train, table.columns, plan.features)
    rows = features.encode(table.train, table.columns, plan.features, fitted)
    kept, held = (
        data.hold_out(clients, plan.data.local_test, draws.at("local-test")) if plan.data.local_test else (clients, clients)
    )
    train = rows.take(kept.order)
    return Ground(
        source=table.source,
        train=train,
        clients=_in_place(kept),
        test=features.encode(table.test, table.columns, plan.features, fitted),
        own=rows.take(held.order) if plan.data.local_test else train,
        own_clients=_in_place(held),
        released=(*table.released, *fitted.released),
    )


def _in_place(clients: Clients) -> Clients:
    """Return the same clients over rows that already stand in their order."""
    return Clients(order=np.arange(len(clients.order)), starts=clients.starts)
