"""The nouns of a reproduction: a paper has tables, a table has cells, a cell names the trial whose figure it shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Scale = Literal["smoke", "quick", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "quick", "full")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Something to run: a plan (kind "plan", settings its tables) or a named experiment that is no federated plan."""

    kind: str
    settings: dict[str, Any]

    @property
    def key(self) -> str:
        """Return the fingerprint of everything that decides the result."""
        text = json.dumps([self.kind, self.settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One printed number, the figure of ours that stands beside it, and the range in which ours must lie."""

    row: str
    column: str
    paper: float | None
    trial: Trial
    metric: str
    round_no: int | None = None  # None: after the last round
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Table:
    """One published table, or one of ours that belongs beside it (its cells then have no printed number)."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's tables at a scale, and what a reader must know first."""

    name: str
    title: str
    first_words: str
    tables: Callable[[Scale], tuple[Table, ...]]
    settings_note: Callable[[Scale], str]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A cell with our figure in it; None if its trial has not been run to its end."""

    table: str
    cell: Cell
    ours: float | None

    @property
    def ok(self) -> bool | None:
        """Return whether ours lies where it must."""
        return None if self.ours is None else self.cell.low <= round(self.ours, 4) <= self.cell.high

    def as_json(self) -> dict[str, Any]:
        """Return the cell as the command line prints it."""
        cell = self.cell
        return {
            "table": self.table, "row": cell.row, "column": cell.column, "paper": cell.paper, "ours": self.ours,
            "low": cell.low, "high": cell.high, "ok": self.ok,
        }  # fmt: skip
