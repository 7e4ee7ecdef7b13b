"""The nouns of a reproduction: a paper has tables, a table has cells, a cell names the trial whose figure it shows.

A trial is run once per seed. Such a run is the unit that is carried out and kept; a stop loses at most one of them. Claims
(`claims.py`) are decided by cells; figures (`pictures.py`) are drawn from them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tacit.papers.estimate import Estimate

if TYPE_CHECKING:
    from tacit.papers.claims import Claim
    from tacit.papers.pictures import Picture

Scale = Literal["smoke", "quick", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "quick", "full")

Figures = dict[str, dict[str, float]]
"""Round (as text; "last" for the last) → metric → value."""

Values = dict[int | None, float]
"""Seed → figure; the seed is None where nothing is drawn."""

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


class At(NamedTuple):
    """Where a cell stands: its table, row and column, by which claims and pictures name it."""

    table: str
    row: str
    column: str


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One printed number and the figure of ours that stands beside it: the mean over the trial's seeds."""

    row: str
    column: str
    paper: float | None
    trial: Trial
    metric: str
    round_no: int | None = None  # None: after the last round
    minus: Trial | None = None  # its figure is taken off, seed by seed; it has the same seeds
    minus_metric: str | None = None  # what is taken off, if it is another metric
    minus_round_no: int | None = None  # or of another round
    relative: bool = False  # what is left is a share of what was taken off
    of: Trial | None = None  # what is left is a share of what this one leaves, seed by seed
    parts: tuple[Cell, ...] = ()  # the cell shows the mean of these cells' figures, seed by seed, and nothing of its own
    digits: int = 3  # how many the paper prints after the point

    @property
    def key(self) -> str:
        """Return the fingerprint of what the cell shows, whatever its seeds: figures on a page are found again by it."""
        trials = [None if one is None else [one.kind, one.settings] for one in (self.trial, self.minus, self.of)]
        whole: list[Any] = [trials, self.metric, self.round_no, self.relative, [part.key for part in self.parts]]
        if self.minus_metric or self.minus_round_no:  # else the key is that of figures kept before these fields were there
            whole.append([self.minus_metric, self.minus_round_no])
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:20]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One published table, or one of ours that belongs beside it (its cells then have no printed number)."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    note: str = ""
    small: bool = False  # its runs are smaller than the paper's at every scale
    cost: str = ""  # what its runs at the paper's scale take, said where some of them have not been run


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's tables at a scale, what it claims, and how its own kinds of trial are run."""

    name: str
    title: str
    first_words: str
    scales: Mapping[Scale, str]  # what each scale runs, in a sentence
    tables: Callable[[Scale], tuple[Table, ...]]
    claims: tuple[Claim, ...] = ()
    pictures: tuple[Picture, ...] = ()
    runners: Mapping[str, Runner] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A cell at a scale with our figure in it; None if none of its runs is there."""

    table: str
    cell: Cell
    ours: Estimate | None
    scale: Scale = "full"
    values: Values = field(default_factory=dict)  # what `ours` is made of, where it is known

    @property
    def at(self) -> At:
        """Return where the cell stands."""
        return At(self.table, self.cell.row, self.cell.column)

    @property
    def place(self) -> Literal["same", "above", "below"] | None:
        """Return where ours lies beside the printed number; None where there is none, or too few seeds to say.

        It is the same if the printed number, give or take half of its last digit, could be that of one more seed of ours
        (95 % prediction interval); a figure that no draw changes must be the printed number itself.
        """
        ends = None if self.ours is None else self.ours.one_more
        if self.cell.paper is None or ends is None:
            return None
        half = 0.5 * 10.0**-self.cell.digits + 1e-12
        if ends[0] > self.cell.paper + half:
            return "above"
        return "below" if ends[1] < self.cell.paper - half else "same"

    def as_json(self) -> dict[str, Any]:
        """Return the cell as the command line prints it."""
        cell, ours = self.cell, self.ours
        low, high = (None, None) if ours is None or ours.interval is None else ours.interval
        return {
            "table": self.table, "row": cell.row, "column": cell.column, "paper": cell.paper,
            "ours": None if ours is None else ours.mean, "low": low, "high": high, "seeds": None if ours is None else ours.seeds,
            "place": self.place,
        }  # fmt: skip
