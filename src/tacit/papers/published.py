"""The nouns of a reproduction: a paper has tables, a table has cells, a cell names the trial whose figure it shows.

A trial is run once per seed. Such a run is the unit that is carried out and kept; a stop loses at most one of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Scale = Literal["smoke", "quick", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "quick", "full")

Figures = dict[str, dict[str, float]]
"""Round (as text; "last" for the last) → metric → value."""

Runner = Callable[..., Figures]
"""Carries out a run: called with its settings by name, `seed` among them if its trial has seeds."""

PLAN = "plan"
"""The kind of a trial whose settings are a plan's tables; every paper has it. Other kinds are in `Paper.runners`."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A trial with one seed. What it is made of decides its result, and is the key under which that is kept."""

    kind: str
    settings: dict[str, Any]

    @property
    def key(self) -> str:
        """Return the fingerprint of everything that decides the result."""
        text = json.dumps([self.kind, self.settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Something to run: a plan, or an experiment that the paper's folder has a runner for.

    Without seeds it is run once: counts and sizes, which no draw changes.
    """

    kind: str
    settings: dict[str, Any]
    seeds: tuple[int, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return one run per seed, in the order of the seeds."""
        settings = [{**self.settings, "seed": seed} for seed in self.seeds] or [self.settings]
        return tuple(Run(kind=self.kind, settings=one) for one in settings)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One printed number, the figure of ours that stands beside it, and the range in which ours must lie.

    Our figure is the mean over the trial's seeds, or an end of its 95 % confidence interval, which needs two seeds.
    """

    row: str
    column: str
    paper: float | None
    trial: Trial
    metric: str
    round_no: int | None = None  # None: after the last round
    statistic: Literal["mean", "low", "high"] = "mean"
    minus: Trial | None = None  # its figure is taken off, seed by seed; it has the same seeds
    relative: bool = False  # what is left is a share of what was taken off
    of: Trial | None = None  # what is left is, of means, a share of what this one leaves
    parts: tuple[Cell, ...] = ()  # the cell shows the mean of these cells' figures, and nothing of its own
    low: float = 0.0
    high: float = 1.0

    @property
    def counts(self) -> bool:
        """Return whether the cell says something about the paper: there is a printed number, and ours could lie outside."""
        least = 0.0 if self.minus is None else -1.0
        return self.paper is not None and (self.low > least or self.high < 1)


@dataclass(frozen=True, kw_only=True)
class Table:
    """One published table, or one of ours that belongs beside it (its cells then have no printed number)."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's tables at a scale, what a reader must know first, and how its own kinds of trial are run."""

    name: str
    title: str
    first_words: str
    scales: Mapping[Scale, str]  # what each scale runs, in a sentence
    tables: Callable[[Scale], tuple[Table, ...]]
    runners: Mapping[str, Runner] = field(default_factory=dict)


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


def floor(scale: Scale, value: float) -> float:
    """Return the least a cell may show: a slice of the data proves that a cell runs, not where it lies."""
    return 0.0 if scale == "smoke" else round(value, 4)
