"""Outputs about the ledger of a site. The string below a key is its meaning."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class ChargedRun(TypedDict):
    """What a client was charged in one run."""

    micro_epsilon: int
    """Privacy loss in millionths."""
    delta: float
    """Probability that the loss is larger."""
    bare: bool
    """Whether messages without an epsilon were sent too."""
    charges: NotRequired[int]
    """With `--client-id`: number of charges."""


class ChargedClient(TypedDict):
    """What a client was charged over all runs."""

    client: str
    """Pseudonym of the client, in hexadecimal digits."""
    micro_epsilon: int
    """Privacy loss in millionths."""
    delta: float
    """Probability that the loss is larger."""
    bare: bool
    """Whether messages without an epsilon were sent too."""
    runs: dict[str, ChargedRun]
    """Charges by run."""


class RecordedDecision(TypedDict):
    """A decision of the owner about a run, as it stands in the ledger."""

    run: str
    """Name of the run."""
    verdict: Literal["approved", "refused"]
    """The decision."""
    day: str
    """Its date, in UTC."""
    by: str
    """Who decided, and by which way."""
    reason: str
    """Why; empty if no reason was given."""


class LedgerOutput(TypedDict):
    """A privacy ledger and what its clients were charged."""

    ledger: str
    """Path of the ledger."""
    entries: int
    """Number of entries."""
    head: str
    """Hash of the last entry, in hexadecimal digits."""
    exchanges: int
    """Exchanges that charged clients."""
    unanswered: int
    """Exchanges that charged clients without a stored response."""
    rows_disclosed: int
    """Rows disclosed in all runs."""
    losses_accepted: int
    """How often the owner accepted the loss of entries."""
    clients_erased: int
    """Clients that the owner erased."""
    restores: int
    """How often the ledger was restored from a backup."""
    decisions: list[RecordedDecision]
    """Decisions of the owner about runs, oldest first."""
    clients: list[ChargedClient]
    """Every client that was charged, largest loss first."""


class LedgerClientOutput(TypedDict):
    """What one client was charged, by run."""

    ledger: str
    """Path of the ledger."""
    rows_in_file: int | None
    """Rows of the client in the site's file; null if the file cannot be read."""
    client: str
    """Pseudonym of the client, in hexadecimal digits."""
    micro_epsilon: int
    """Privacy loss in millionths."""
    delta: float
    """Probability that the loss is larger."""
    bare: bool
    """Whether messages without an epsilon were sent too."""
    runs: dict[str, ChargedRun]
    """Charges by run."""
    unit: str
    """The privacy unit of the site."""
    rows_disclosed: int
    """Rows of the client that were disclosed."""
    erased_on: str | None
    """Day on which the owner erased the client; null if not."""


class LedgerVerificationOutput(TypedDict):
    """A ledger whose entries and totals are correct."""

    ledger: str
    """Path of the ledger."""
    ok: Literal[True]
    """Always true; a damaged ledger is an error."""
    entries: int
    """Number of entries."""
    head: str
    """Hash of the last entry, in hexadecimal digits."""


class ErasureOutput(TypedDict):
    """A client that was erased, with what it had been charged."""

    client: str
    """Pseudonym of the client, in hexadecimal digits."""
    micro_epsilon: int
    """Privacy loss in millionths."""
    delta: float
    """Probability that the loss is larger."""
    bare: bool
    """Whether messages without an epsilon were sent too."""
    runs: dict[str, ChargedRun]
    """Charges by run."""
    unit: str
    """The privacy unit of the site."""
    rows_disclosed: int
    """Rows of the client that were disclosed."""
    erased_on: str | None
    """Day on which the client had been erased before; null if not."""
    rows_in_file: int | None
    """Rows of the client in the site's file; null if the file cannot be read."""
    similar_ids_in_file: int
    """Other ids in the file that differ only in case, leading zeros or a decimal point."""
    was_erased_before: bool
    """Whether it had been erased before."""
    runs_that_received_statistics: list[str]
    """Runs that received statistics, possibly with this client's rows."""
    open_runs: list[str]
    """Runs under way."""
    runs_with_deleted_parts: int
    """Runs in which private parts of the client were deleted."""
