"""Rows that a simulation discloses before round one: which client sends which rows, and the rows of
each party afterwards.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    """The rows of each party after disclosure: every client has the rows it kept, and the server
    those it received.

    `train` are the kept rows, client by client, then the server's. `clients` are the kept rows of
    each client; `holders` also has the server, as one more holder at the end. `clients_weight` is
    the total number of rows that clients declared as their weight. `tests` flags the held-out
    rows on which clients evaluate the training of others: those of the kind they keep.
    """

    train: Rows
    clients: Clients
    holders: Clients
    rows: pl.DataFrame
    clients_weight: int
    tests: NDArray[np.bool_]
    facts: DisclosedRows

    def parquet(self) -> bytes:
        """The server's rows in the format of the run's folder."""
        buffer = io.BytesIO()
        self.rows.write_parquet(buffer)
        return buffer.getvalue()


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What would be sent: the release, the actual messages, and what they would reveal."""

    offer: disclosing.RowRelease
    messages: list[Frame]
    findings: disclosing.Findings
    facts: DisclosedRows


def disclose_rows(
    plan: Plan,
    table: data.Table,
    clients: Clients,
    held_out: Clients,
    encode: Callable[[pl.DataFrame], Rows],
    draws: Draws,
) -> Disclosure:
    """Disclose the rows that [data.share] allows each client to send; `held_out` are rows that
    clients never send. `draws` are the root of the simulation.
    """
    share, ahead = plan.data.share, build_preview(plan, table, clients, draws)
    assert share is not None
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
        clients_weight=gathered.total.weight * (share.rows_per_client or 1),
        tests=disclosing.find_kept_classes(offer, table, held_out, share),
        facts=ahead.facts,
    )


def build_preview(plan: Plan, table: data.Table, clients: Clients, root: Draws) -> Preview:
    """Preview what every client would send under the plan's rule; `root` is the simulation's."""
    draws = root.at("share")
    if plan.data.share is None:
        raise PlanError(
            f"plan {plan.name!r} discloses no rows: it has no [data.share] table; add one with rule"
            " and k to disclose some"
        )
    share, sums = plan.data.share, None
    if share.counts == "global":
        salt = root.publish("public").key
        sums = disclosing.count_classes(table, clients, share, table.train.height, salt)
    offer = disclosing.decide_release(table, clients, share, draws, sums)
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
