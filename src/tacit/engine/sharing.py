"""What happens once, before round one: clients send the rows they may, and the server takes them in."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit import data, features, wire
from tacit.data import share as sharing
from tacit.draws import Draws
from tacit.engine.round import Pieces
from tacit.errors import PlanError, WireError
from tacit.plan import Plan
from tacit.record import DisclosedRows
from tacit.rows import Clients, Rows

FILE = "shared_rows.parquet"


@dataclass(frozen=True, kw_only=True)
class Given:
    """Who holds what after the sharing: every client the rows it kept, and the server those it was given.

    `train` are the kept rows, client after client, then the server's; `clients` holds the kept rows of each client, and
    `holders` the same with the server as one more holder at the end. `facts` is what the record says about it.
    """

    train: Rows
    clients: Clients
    holders: Clients
    rows: pl.DataFrame
    facts: DisclosedRows

    def parquet(self) -> bytes:
        """Return the server's rows as they are stored in the run's folder."""
        buffer = io.BytesIO()
        self.rows.write_parquet(buffer)
        return buffer.getvalue()


def hand_over(plan: Plan, table: data.Table, clients: Clients, fitted: features.Fitted, draws: Draws) -> Given | None:
    """Return who holds what after every client has sent what the plan lets it share; None if the plan shares nothing."""
    if plan.data.share is None:
        return None
    ahead = look_ahead(plan, table, clients, draws)
    offer, columns = ahead.offer, tuple(ahead.offer.rows.columns)
    arrived = [
        sharing.check_kinds(receive_rows(plan.name, columns, message), offer.rows.schema) for message in ahead.messages if message
    ]
    rows = pl.concat(arrived, how="vertical_relaxed") if arrived else sharing.written_out(offer.rows.clear())
    kept = offer.kept()
    frame = pl.concat([sharing.written_out(table.train[kept.order]), rows], how="diagonal_relaxed")
    starts = np.append(kept.starts, frame.height)
    return Given(
        train=features.encode(frame, table.columns, plan.features, fitted),
        clients=Clients(order=np.arange(len(kept.order)), starts=kept.starts),
        holders=Clients(order=np.arange(frame.height), starts=starts),
        rows=rows,
        facts=ahead.facts,
    )


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What would leave: the offer, the very messages (None for a client that sends none), and what they would show."""

    offer: sharing.Offer
    messages: list[Pieces | None]
    findings: sharing.Findings
    facts: DisclosedRows


def look_ahead(plan: Plan, table: data.Table, clients: Clients, draws: Draws) -> Preview:
    """Return what every client would send under the plan's rule."""
    if plan.data.share is None:
        raise PlanError(f"plan {plan.name!r} shares no rows: it has no [data.share] table; add one with rule and k to share some")
    offer = sharing.offer(table, clients, plan.data.share, draws)
    messages = [rows_message(plan.name, client, offer.released_by(client)) for client in range(len(clients))]
    findings = sharing.examine(offer)
    return Preview(offer=offer, messages=messages, findings=findings, facts=_facts(plan, findings, messages))


def rows_message(run: str, client: int, rows: pl.DataFrame) -> Pieces | None:
    """Return the one message with the rows a client shares; None if it shares none, for then nothing is sent."""
    if not rows.height:
        return None
    payload: NDArray[np.uint8] = np.frombuffer(sharing.pack_rows(rows), np.uint8)
    return wire.frame(wire.Header(run, 0, client, "rows", rows.width, rows.height, payload.nbytes), payload)


def receive_rows(run: str, columns: tuple[str, ...], pieces: Pieces) -> pl.DataFrame:
    """Return the rows in a client's message; raise WireError if they are not what was agreed on."""
    message = wire.expect(wire.parse(*pieces), run=run, round_no=0, codec="rows", dim=len(columns))
    try:
        return sharing.unpack_rows(message.payload.tobytes(), columns, message.header.weight)
    except WireError as error:
        raise WireError(f"message from sender {message.header.sender}: {error}") from None


def _facts(plan: Plan, found: sharing.Findings, messages: list[Pieces | None]) -> DisclosedRows:
    share = plan.data.share
    assert share is not None
    assert share.k is not None
    return DisclosedRows(
        rule=share.rule,
        k=share.k,
        l=share.l,
        release=share.release,
        counts=share.counts,
        epsilon=share.epsilon,
        delta=share.delta,
        key=list(found.key),
        columns=list(found.columns),
        rows=found.shared,
        of_rows=found.rows,
        rows_per_client=found.shared_per_client,
        bytes_per_client=[wire.size(message) if message else 0 for message in messages],
        classes=found.classes,
        smallest_class=found.smallest_class,
        unique_share=found.unique_share,
        single_label_share=found.single_label_share,
        labels_disclosed=found.labels_shared,
        labels_kept=found.labels_kept,
    )
