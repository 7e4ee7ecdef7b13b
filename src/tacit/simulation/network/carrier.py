"""A carrier over a simulated network: it leaves out the responses that would be missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tacit import training
from tacit.plan import Network, Plan
from tacit.protocol import messages
from tacit.protocol.round import Carrier, Exchange, Gathered, Names, Request, Tick
from tacit.protocol.site import Site
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.runs import record
from tacit.simulation.network.arrivals import Arrivals, Load, NetworkModel

Note = Callable[..., None]
"""Adds entries to the record."""
_HEAD_BYTES = 100
"""About the bytes of a message in addition to its payload."""


@dataclass(kw_only=True)
class NetworkCarrier:
    """A carrier inside a simulated network. Clients that are reached and respond too late, or never,
    are charged by their own ledgers too.

    `compute` are the seconds for which the median machine trains on each client's rows.
    """

    inside: Carrier
    site: Site
    model: NetworkModel
    compute: NDArray[np.float64]
    arm: str
    note: Note
    clients: int = field(init=False)

    def __post_init__(self) -> None:
        self.clients = self.inside.clients

    def willing(self, cohort: Names) -> Names:
        """The clients of a cohort that have rows to train on."""
        return self.inside.willing(cohort)

    def carry(self, exchange: Exchange, request: Request, tick: Tick) -> Gathered:
        """The sum over the clients whose responses arrive in time."""
        if exchange.asks_helpers:
            return self.inside.carry(exchange, request, tick)
        load = Load(
            down=messages.size(request.frame),
            up=exchange.measure_response(request) + _HEAD_BYTES,
            compute=self.compute[request.to] * exchange.trains,
        )
        found = self.model.draw(request.round_no, exchange.name, request.to, load)
        lost = request.to[found.lost]
        if len(lost):
            self.site.refusals(request.part(lost), exchange.claims(max(1, len(request.to))))
        gathered = self.inside.carry(exchange, request.part(request.to[found.counted]), tick)
        self.note(self._describe(exchange, request, found))
        reached = len(request.to) - int(found.unreachable.sum())
        return replace(gathered, bytes_down=load.down * reached)

    def read(self, request: Request) -> Vector | None:
        """The model as the simulated clients decode it."""
        return self.inside.read(request)

    def _describe(
        self, exchange: Exchange, request: Request, found: Arrivals
    ) -> record.NetworkTimes:
        return record.NetworkTimes(
            arm=self.arm,
            round_no=request.round_no,
            exchange=exchange.name,
            asked=len(request.to),
            unreachable=int(found.unreachable.sum()),
            dropped=int(found.dropped.sum()),
            late=int(found.late.sum()),
            median_seconds=round(found.median_seconds, 6),
            seconds=round(found.seconds, 6),
        )


def attach_network(
    inside: Carrier,
    site: Site,
    plan: Plan,
    draws: Draws,
    sizes: NDArray[np.int64],
    *,
    arm: str,
    note: Note,
) -> Carrier:
    """The carrier within the plan's network; `sizes` are the rows of each client."""
    if plan.network is None:
        return inside
    model = NetworkModel(plan.network, draws.at("network"), inside.clients)
    return NetworkCarrier(
        inside=inside,
        site=site,
        model=model,
        compute=estimate_seconds(plan, plan.network, sizes),
        arm=arm,
        note=note,
    )


def estimate_seconds(plan: Plan, network: Network, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Seconds for which the median machine trains on the rows of each client."""
    distinct, place = np.unique(sizes, return_inverse=True)
    rows = [training.count_trained_rows(plan.local, int(size)) for size in distinct]
    return network.row_seconds * np.array(rows, np.float64)[place]
