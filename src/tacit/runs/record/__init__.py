"""The append-only record of a run: typed entries, one JSON line each.

A run writes its record; reports and pages read nothing else. Entries are never changed or removed. A
resumed run appends an entry that names its checkpoint, and `read` skips the entries that it
supersedes.
"""

from tacit.runs.record.entries import KINDS, RUN, VERSION, Entry, select_entries
from tacit.runs.record.fold import find_superseded, fold
from tacit.runs.record.lines import (
    Mark,
    Wanted,
    Writer,
    add,
    parse,
    parse_entry,
    parse_signed,
    read,
    read_head_at,
    read_lines,
    read_signed_heads,
    repair_end,
    verify,
)
from tacit.runs.record.round_entries import (
    Answered,
    ByClass,
    ClientsEvaluated,
    NetworkTimes,
    OwnerDecided,
    Refused,
    Released,
    Round,
    SiteMissing,
    Spent,
    Spread,
    Voted,
)
from tacit.runs.record.run_entries import (
    Abandoned,
    Audited,
    Corrupted,
    DisclosedRows,
    Finished,
    Prepared,
    Resumed,
    Signed,
    Started,
    Stored,
    WarmStarted,
)
from tacit.runs.record.signature import SignedHead

__all__ = [
    "KINDS",
    "RUN",
    "VERSION",
    "Abandoned",
    "Answered",
    "Audited",
    "ByClass",
    "ClientsEvaluated",
    "Corrupted",
    "DisclosedRows",
    "Entry",
    "Finished",
    "Mark",
    "NetworkTimes",
    "OwnerDecided",
    "Prepared",
    "Refused",
    "Released",
    "Resumed",
    "Round",
    "Signed",
    "SignedHead",
    "SiteMissing",
    "Spent",
    "Spread",
    "Started",
    "Stored",
    "Voted",
    "Wanted",
    "WarmStarted",
    "Writer",
    "add",
    "find_superseded",
    "fold",
    "parse",
    "parse_entry",
    "parse_signed",
    "read",
    "read_head_at",
    "read_lines",
    "read_signed_heads",
    "repair_end",
    "select_entries",
    "verify",
]
