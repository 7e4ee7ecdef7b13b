"""The exchange before round one in which clients disclose rows, and their weight with the rows they
keep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from tacit.client import ClientSlot
from tacit.data.k_anonymity import Findings, check_kinds, pack_rows, unpack_rows
from tacit.errors import WireError
from tacit.plan import Plan
from tacit.privacy.claim import Claim
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.messages import Frame
from tacit.protocol.round import Exchange, ExchangeOutcome, Request, State
from tacit.runs.record import DisclosedRows

ROWS = "rows"


class Discloser(NamedTuple):
    """A client with the rows it discloses and its weight with those it keeps."""

    slot: ClientSlot
    rows: pl.DataFrame
    weight: int


class RowSum:
    """Rows as they arrive, and the weight of all clients with the rows they keep."""

    def __init__(self) -> None:
        self.arrived: list[pl.DataFrame] = []
        self.weight = 0

    def merge(self, other: RowSum) -> None:
        """Add what arrived elsewhere."""
        self.arrived += other.arrived
        self.weight += other.weight


class DiscloseRows(Exchange):
    """One message per client: the rows it discloses (often none), and its weight with the others."""

    carries_model = False

    name = "disclose rows"

    def __init__(self, run: str, schema: pl.Schema) -> None:
        """`schema` is what both sides know of the table: its columns and their kinds."""
        self.run, self.schema, self.columns = run, schema, tuple(schema)

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """No claims: disclosed rows have no epsilon; the ledger lists them by number."""
        return ()

    def build_request(self, state: State) -> Request:
        """An empty request: the plan says which rows may be disclosed."""
        header = messages.Header(self.run, state.round_no, 0, ROWS, len(self.columns), 0, 0)
        return Request(
            exchange=self.name,
            round_no=0,
            to=state.cohort,
            frame=messages.frame(header, np.empty(0, np.uint8)),
        )

    def respond(self, client: Discloser, request: Request) -> Frame:
        """The message with a client's rows."""
        payload = np.frombuffer(pack_rows(client.rows) if client.rows.height else b"", np.uint8)
        header = messages.Header(
            self.run, 0, client.slot.name, ROWS, client.rows.height, client.weight, payload.nbytes
        )
        return messages.frame(header, payload)

    def empty(self) -> RowSum:
        """No rows."""
        return RowSum()

    def receive(self, intake: Intake, total: RowSum, frame: Frame) -> None:
        """Check one client's message and add its rows; raise WireError if they do not match the
        agreed schema.
        """
        message = messages.parse(*frame)
        header = messages.expect(message, run=self.run, codec=ROWS).header
        intake.check(header.sender, header.round_no, header.weight)
        if header.dim:
            total.arrived.append(self._unpack(message))
        elif header.payload_size:
            raise WireError(
                f"rows from sender {header.sender} refused: it announces no rows but has a payload"
                f" of {header.payload_size:,} bytes"
            )
        total.weight += header.weight
        intake.note(header.sender)

    def _unpack(self, message: messages.Message) -> pl.DataFrame:
        try:
            return check_kinds(
                unpack_rows(message.payload.tobytes(), self.columns, message.header.dim),
                self.schema,
            )
        except WireError as error:
            raise WireError(f"message from sender {message.header.sender}: {error}") from None

    def close(self, state: State, total: RowSum) -> ExchangeOutcome:
        """The unchanged state: disclosed rows belong to the server, not to a round's state."""
        return ExchangeOutcome(state=state)


def describe_offer(plan: Plan, found: Findings, sent: list[Frame]) -> DisclosedRows:
    """Facts about the rows that would be disclosed, for the record."""
    share = plan.data.share
    assert share is not None
    return DisclosedRows(
        rule=share.rule_name,
        k_column=share.k_column,
        k=share.rows_alike,
        l=share.l,
        release=share.release,
        counts=share.counts,
        epsilon=share.epsilon,
        delta=share.delta,
        key=list(found.key),
        columns=list(found.columns),
        rows=found.disclosed,
        of_rows=found.rows,
        rows_per_client=found.disclosed_per_client,
        bytes_per_client=[messages.size(frame) for frame in sent],
        classes=found.classes,
        smallest_class=found.smallest_class,
        unique_share=found.unique_share,
        single_label_share=found.single_label_share,
        labels_disclosed=found.labels_disclosed,
        labels_kept=found.labels_kept,
    )
