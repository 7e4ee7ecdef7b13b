"""The append-only account of a run: typed entries, one JSON line each.

Engines write it and never read it; report, tables and pages read only it. An entry is never changed. The file is cut back to
a checkpoint's length when a run is resumed, so every entry stands once.
"""

from tacit.record.entries import (
    KINDS,
    RUN,
    VERSION,
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
    Spent,
    Spread,
    Started,
    Stored,
    Voted,
    WarmStarted,
    of_kind,
)
from tacit.record.lines import Mark, Writer, add, cut, has_rounds, read, verify

__all__ = [
    "KINDS",
    "RUN",
    "VERSION",
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
    "Spent",
    "Spread",
    "Started",
    "Stored",
    "Voted",
    "WarmStarted",
    "Writer",
    "add",
    "cut",
    "has_rounds",
    "of_kind",
    "read",
    "verify",
]
