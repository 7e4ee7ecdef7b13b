"""The kinds of entries of a record, and the name of each in the file."""

from __future__ import annotations

from typing import Any, TypeVar

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

VERSION = 3
"""Version of the record format. Version 1 had no checksums, version 2 short ones and no signatures.
"""

Entry = (
    Started
    | Resumed
    | Signed
    | Abandoned
    | Prepared
    | DisclosedRows
    | Corrupted
    | WarmStarted
    | Released
    | Spent
    | Round
    | Voted
    | Spread
    | ByClass
    | Answered
    | ClientsEvaluated
    | Refused
    | NetworkTimes
    | SiteMissing
    | OwnerDecided
    | Audited
    | Stored
    | Finished
)
KINDS: dict[str, type[Any]] = {
    "started": Started,
    "resumed": Resumed,
    "signed": Signed,
    "abandoned": Abandoned,
    "prepared": Prepared,
    "disclosed_rows": DisclosedRows,
    "corrupted": Corrupted,
    "warm_started": WarmStarted,
    "released": Released,
    "spent": Spent,
    "round": Round,
    "voted": Voted,
    "spread": Spread,
    "by_class": ByClass,
    "answered": Answered,
    "clients_evaluated": ClientsEvaluated,
    "refused": Refused,
    "network": NetworkTimes,
    "site_missing": SiteMissing,
    "owner_decided": OwnerDecided,
    "audited": Audited,
    "stored": Stored,
    "finished": Finished,
}
"""Kinds of entries by their name in the file."""
RUN = "run"
"""The arm that is the plan itself; other arms are baselines, named as in the plan."""
FEATURES = "features"
"""The arm that buys what features need, before the plan itself; its releases are the run's."""


Kind = TypeVar("Kind")


def select_entries(entries: list[Entry], kind: type[Kind], arm: str | None = None) -> list[Kind]:
    """Select the entries of one kind, optionally of one arm."""
    return [
        entry
        for entry in entries
        if isinstance(entry, kind) and (arm is None or getattr(entry, "arm", None) == arm)
    ]
