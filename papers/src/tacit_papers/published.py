"""Data types of a reproduction: a paper has tables, a table has cells, a cell names the trial whose
value it shows.

A trial is run once per seed. Such a run is the unit that is carried out and cached; a stop loses at
most one of them. Cells decide claims (`claims.py`) and are drawn in figures (`pictures.py`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal, NamedTuple

from tacit.reproduction import Scale
from tacit_papers.estimate import Estimate

Figures = dict[str, dict[str, float]]
"""Round (as text; "last" for the last) → metric → value."""

Values = dict[int | None, float]
"""Seed → figure; the seed is None where nothing is drawn."""

Runner = Callable[..., Figures]
"""Carries out a run: called with its settings by name, `seed` among them if its trial has seeds."""

PLAN = "plan"
"""The kind of a trial whose settings are a plan's tables; every paper has it. Other kinds are in
`Paper.runners`.
"""


@dataclass(frozen=True, kw_only=True)
class TrialRun:
    """A trial with one seed. Its kind and settings determine its result, and are the key of the
    cache.
    """

    kind: str
    settings: dict[str, Any]

    @property
    def key(self) -> str:
        """Hash of everything that determines the result."""
        text = json.dumps([self.kind, self.settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True, kw_only=True)
class PaperTrial:
    """Something to run: a plan, or an experiment for which the paper has a runner.

    Without seeds it is run once: counts and sizes, which involve no randomness.
    """

    kind: str
    settings: dict[str, Any]
    seeds: tuple[int, ...]

    @property
    def runs(self) -> tuple[TrialRun, ...]:
        """One run per seed, in the order of the seeds."""
        settings = [{**self.settings, "seed": seed} for seed in self.seeds] or [self.settings]
        return tuple(TrialRun(kind=self.kind, settings=one) for one in settings)


class At(NamedTuple):
    """The position of a cell: its table, row and column. Claims and pictures refer to cells by it."""

    table: str
    row: str
    column: str


@dataclass(frozen=True, kw_only=True)
class PaperCell:
    """One printed number and our value for it: the mean over the trial's seeds."""

    row: str
    column: str
    paper: float | None
    trial: PaperTrial
    metric: str
    round_no: int | None = None  # None: after the last round
    minus: PaperTrial | None = None  # its figure is taken off, seed by seed; it has the same seeds
    minus_metric: str | None = None  # what is taken off, if it is another metric
    minus_round_no: int | None = None  # or of another round
    relative: bool = False  # what is left is a share of what was taken off
    of: PaperTrial | None = None  # what is left is a share of what this one leaves, seed by seed
    parts: tuple[
        PaperCell, ...
    ] = ()  # the cell shows the mean of these cells' figures, seed by seed, and nothing of its own
    digits: int = 3  # how many the paper prints after the point
    again: bool = False  # the printed number is that of another cell, at another round or as part
    # of a difference: it counts once, there

    @property
    def key(self) -> str:
        """Hash of what the cell shows, without its seeds; results on a page are found again by it."""
        trials = [
            None if one is None else [one.kind, one.settings]
            for one in (self.trial, self.minus, self.of)
        ]
        whole: list[Any] = [
            trials,
            self.metric,
            self.round_no,
            self.relative,
            [part.key for part in self.parts],
        ]
        if (
            self.minus_metric or self.minus_round_no
        ):  # else the key is that of figures kept before these fields were there
            whole.append([self.minus_metric, self.minus_round_no])
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:20]


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """One published table, or an additional one of ours (its cells then have no printed number)."""

    name: str
    title: str
    cells: tuple[PaperCell, ...]
    note: str = ""
    small: bool = False  # its runs are smaller than the paper's at every scale
    cost: str = (
        ""  # what its runs at the paper's scale take, said where some of them have not been run
    )

    @property
    def effect(self) -> float:
        """The effect that the printed numbers show: the median range of a row, or of a column if
        that is smaller. Without two different numbers in a row or column, the size of a number.
        """
        rows, columns = dict[str, list[float]](), dict[str, list[float]]()
        for cell in self.cells:
            if cell.paper is not None:
                rows.setdefault(cell.row, []).append(cell.paper)
                columns.setdefault(cell.column, []).append(cell.paper)
        ranges = [_list_ranges(one.values()) for one in (rows, columns)]
        if any(ranges):
            return min(median(one) for one in ranges if one)
        return measure_effect([number for row in rows.values() for number in row])


def measure_effect(printed: Sequence[float]) -> float:
    """The range of printed numbers; if they are all the same, their size."""
    if not printed:
        return 0.0
    return max(printed) - min(printed) or abs(printed[0])


def _list_ranges(groups: Iterable[list[float]]) -> list[float]:
    return [max(one) - min(one) for one in groups if max(one) > min(one)]


@dataclass(frozen=True, kw_only=True)
class CellOutcome:
    """A cell at a scale with our estimate; None if none of its runs exists."""

    table: str
    cell: PaperCell
    ours: Estimate | None
    scale: Scale = "full"
    values: Values = field(default_factory=dict)  # what `ours` is made of, where it is known
    effect: float = (
        math.inf
    )  # of the table; an estimate with a wider interval is compared with nothing

    @property
    def is_too_wide(self) -> bool:
        """Whether the interval is wider than the effect that the table shows."""
        return self.ours is not None and self.ours.is_comparable and self.ours.width > self.effect

    @property
    def at(self) -> At:
        """The cell's position."""
        return At(self.table, self.cell.row, self.cell.column)

    @property
    def place(self) -> Literal["same", "above", "below"] | None:
        """Where our estimate lies relative to the printed number; None without a printed number,
        with too few seeds, or with an interval wider than the effect.

        It is the same if the printed number, give or take half of its last digit, lies in the 95 %
        prediction interval of one more seed. An exact number must equal the printed one.
        """
        ends = None if self.ours is None else self.ours.prediction_interval
        if self.cell.paper is None or ends is None or self.is_too_wide:
            return None
        half = 0.5 * 10.0**-self.cell.digits + 1e-12
        if ends[0] > self.cell.paper + half:
            return "above"
        return "below" if ends[1] < self.cell.paper - half else "same"

    def as_json(self) -> dict[str, Any]:
        """The cell as the command line prints it."""
        cell, ours = self.cell, self.ours
        low, high = (None, None) if ours is None or ours.interval is None else ours.interval
        return {
             "table": self.table, "row": cell.row, "column": cell.column, "paper": cell.paper,
            "ours": None if ours is None else ours.mean, "low": low, "high": high, "seeds": None if
            ours is None else ours.seeds, "place": self.place,
        }  # fmt: skip
