"""The append-only account of a run: typed entries, one JSON line each.

Engines write it and do not steer by it; report, tables and pages read only it. An entry is never changed and never removed. A run
that is resumed appends from which checkpoint it goes on; `read` leaves out what that superseded, so every entry stands once.
"""

from tacit.record.entries import (
    KINDS,
    RUN,
    VERSION,
    Abandoned,
    Audited,
    ByClass,
    ClientsEvaluated,
    Corrupted,
    DisclosedRows,
    Entry,
    Finished,
    Prepared,
    Refused,
    Released,
    Resumed,
    Round,
    Signed,
    Spent,
    Spread,
    Started,
    Stored,
    Voted,
    WarmStarted,
    of_kind,
)
from tacit.record.fold import fold, superseded_by
from tacit.record.lines import Mark, Writer, add, head_at, read, read_lines, repair_end, signed_heads, verify
from tacit.record.signature import SignedHead

__all__ = [
    "KINDS",
    "RUN",
    "VERSION",
    "Abandoned",
    "Audited",
    "ByClass",
    "ClientsEvaluated",
    "Corrupted",
    "DisclosedRows",
    "Entry",
    "Finished",
    "Mark",
    "Prepared",
    "Refused",
    "Released",
    "Resumed",
    "Round",
    "Signed",
    "SignedHead",
    "Spent",
    "Spread",
    "Started",
    "Stored",
    "Voted",
    "WarmStarted",
    "Writer",
    "add",
    "fold",
    "head_at",
    "of_kind",
    "read",
    "read_lines",
    "repair_end",
    "signed_heads",
    "superseded_by",
    "verify",
]
