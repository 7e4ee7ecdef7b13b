"""Rows that leave before round one, in a simulation: who would send what, and who holds what
afterwards.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from tacit import data, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.data import k_anonymity as disclosing
from tacit.errors import PlanError, WireError
from tacit.plan import Plan
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.disclose_rows import Discloser, DiscloseRows, describe_offer
from tacit.protocol.messages import Frame
from tacit.protocol.round import State, gather
from tacit.randomness import Draws
from tacit.rows import Clients, Rows
from tacit.runs.record import DisclosedRows


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """Who holds what after rows were disclosed: every client the rows it kept, and the server those
    it was sent.

    `train` are the kept rows, client after client, then the server's; `clients` holds the kept rows
    of each client, and `holders` the same with the server as one more holder at the end.
    `clients_weight` is what all clients said they count, in rows.
    """

    train: Rows
    clients: Clients
    holders: Clients
    rows: pl.DataFrame
    clients_weight: int
    facts: DisclosedRows

    def parquet(self) -> bytes:
        """Return the server's rows as they are stored in the run's folder."""
        buffer = io.BytesIO()
        self.rows.write_parquet(buffer)
        return buffer.getvalue()


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What would leave: the offer, the very messages, and what they would show."""

    offer: disclosing.RowRelease
    messages: list[Frame]
    findings: disclosing.Findings
    facts: DisclosedRows


def disclosed(
    plan: Plan,
    table: data.Table,
    clients: Clients,
    encode: Callable[[pl.DataFrame], Rows],
    draws: Draws,
) -> Disclosure | None:
    """Return who holds what after every client has sent what the plan lets it; None if the plan
    discloses nothing.
    """
    if plan.data.share is None:
        return None
    ahead = preview_of(plan, table, clients, draws)
    offer = ahead.offer
    exchange, sizes = DiscloseRows(plan.name, offer.rows.schema), offer.kept().sizes()
    intake = Intake(range(len(clients)), 0, max(1, int(sizes.max(initial=1))), least_weight=0)
    gathered = gather(exchange, intake, ahead.messages)
    if gathered.refused:
        raise WireError(gathered.refused[0].reason)
    arrived = gathered.total.arrived
    rows = (
        pl.concat(arrived, how="vertical_relaxed")
        if arrived
        else disclosing.expand_categories(offer.rows.clear())
    )
    kept = offer.kept()
    frame = pl.concat(
        [disclosing.expand_categories(table.train[kept.order]), rows], how="diagonal_relaxed"
    )
    return Disclosure(
        train=encode(frame),
        clients=Clients(order=np.arange(len(kept.order)), starts=kept.starts),
        holders=Clients(order=np.arange(frame.height), starts=np.append(kept.starts, frame.height)),
        rows=rows,
        clients_weight=gathered.total.weight * (plan.data.share.rows_per_client or 1),
        facts=ahead.facts,
    )


def preview_of(plan: Plan, table: data.Table, clients: Clients, draws: Draws) -> Preview:
    """Return what every client would send under the plan's rule."""
    if plan.data.share is None:
        raise PlanError(
            f"plan {plan.name!r} discloses no rows: it has no [data.share] table; add one with rule"
            " and k to share some"
        )
    offer = disclosing.decide_release(table, clients, plan.data.share, draws)
    exchange = DiscloseRows(plan.name, offer.rows.schema)
    everyone = np.arange(len(clients))
    request = exchange.build_request(State(round_no=0, cohort=everyone, model=None, optimizer={}))
    weights = training.compute_weights(plan.server, offer.kept().sizes())
    messages = [
        exchange.respond(
            Discloser(
                ClientSlot(name, name, ClientRandomness(draws, name)),
                offer.released_by(name),
                int(weights[name]),
            ),
            request,
        )
        for name in everyone.tolist()
    ]
    findings = disclosing.examine(offer)
    return Preview(
        offer=offer,
        messages=messages,
        findings=findings,
        facts=describe_offer(plan, findings, messages),
    )
