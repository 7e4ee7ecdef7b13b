"""Sweeps and searches for settings, from the runs that they left in the folder.

Each of their plans says which search it belongs to (`selected_by`).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from tacit.report import phrasing
from tacit.report.compare import find_differences, format_setting
from tacit.report.pages.charts import Figure, build_figure
from tacit.ui.records.catalogue import RunRow
from tacit.ui.runs.live_charts import Charts

_SWEEP = re.compile(r"tacit plan sweep: one of ([\d,]{1,9}) runs over (.{1,200}) on the same rows")
_TUNE = "tacit plan tune: one of its runs"
_IGNORED = ("selected_by", "engine.", "name", "baselines")
_MAX_KEYS = 8


@dataclass(frozen=True, kw_only=True)
class PlanSearch:
    """The runs of one sweep, or of one search for better settings."""

    key: str
    kind: str
    name: str
    wanted: int | None
    """Runs without baselines that the sweep makes; None if it is not known."""
    settings: tuple[str, ...]
    """Plan keys in which the runs differ, those that the sweep names first."""
    rows: tuple[RunRow, ...]

    @property
    def done(self) -> int:
        """Finished runs."""
        return sum(not row.is_open for row in self.rows)

    @property
    def best(self) -> RunRow | None:
        """The finished run with the highest value."""
        known = [row for row in self.rows if row.value is not None and not row.is_open]
        return max(known, key=lambda row: row.value or 0.0, default=None)

    def list_values(self, row: RunRow) -> list[str]:
        """The settings of a run in which the runs differ."""
        return [format_setting(read_setting(row.plan, key)) for key in self.settings]


def find_searches(rows: Sequence[RunRow]) -> list[PlanSearch]:
    """Group runs by the search that they belong to, the latest first."""
    groups: dict[tuple[str, str], list[RunRow]] = {}
    for row in rows:
        if row.selected_by.startswith(_TUNE) or _SWEEP.match(row.selected_by):
            groups.setdefault((str(row.plan.get("name")), row.selected_by), []).append(row)
    return [_build(name, note, found) for (name, note), found in groups.items()]


def _build(name: str, note: str, rows: list[RunRow]) -> PlanSearch:
    sweep = _SWEEP.match(note)
    named = [one.strip() for one in sweep[2].split(",")] if sweep else []
    differing = [
        key
        for key in find_differences({row.name: row.plan for row in rows})
        if not key.startswith(_IGNORED)
    ]
    keys = dict.fromkeys([*(key for key in named if key in differing), *differing])
    return PlanSearch(
        key=hashlib.sha256(f"{name}\0{note}".encode("utf-8", "replace")).hexdigest()[:16],
        kind="sweep" if sweep else "search",
        name=name,
        wanted=int(sweep[1].replace(",", "")) if sweep else None,
        settings=tuple(keys)[:_MAX_KEYS],
        rows=tuple(rows),
    )


def read_setting(plan: dict[str, Any], key: str) -> Any:
    """A setting of a plan by its dotted key; None if it is missing."""
    found: Any = plan
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def chart_search(search: PlanSearch) -> Charts:
    """Result by each numeric setting, with the mean of equal values; and by epsilon and bytes."""
    values = [(row, row.value) for row in search.rows if row.value is not None]
    found: dict[str, Figure] = {}
    for key in search.settings:
        points = [
            (float(x), value, row.name)
            for row, value in values
            if isinstance(x := read_setting(row.plan, key), int | float)
        ]
        if len({x for x, _, _ in points}) > 1:
            found[key] = _chart(key, points)
    return {"search": found}


def _chart(key: str, points: list[tuple[float, float, str]]) -> Figure:
    by_value: dict[float, list[float]] = {}
    for x, y, _ in points:
        by_value.setdefault(x, []).append(y)
    means = sorted((x, fmean(ys)) for x, ys in by_value.items())
    axis: Figure = {"title": {"text": key}}
    if means[0][0] > 0 and means[-1][0] > 10 * means[0][0]:
        axis["type"] = "log"
        axis["range"] = [math.log10(means[0][0]) - 0.1, math.log10(means[-1][0]) + 0.1]
    runs: Figure = {
        "type": "scatter",
        "mode": "markers",
        "name": "runs",
        "meta": "run",
        "marker": {"size": 8, "opacity": 0.7},
        "x": [x for x, _, _ in points],
        "y": [y for _, y, _ in points],
        "customdata": [name for _, _, name in points],
        "hovertemplate": "%{customdata}: %{y:.3f}",
    }
    line: Figure = {
        "type": "scatter",
        "mode": "lines",
        "name": "mean",
        "meta": "central",
        "line": {"width": 2, "dash": "dot"},
        "x": [x for x, _ in means],
        "y": [y for _, y in means],
        "hovertemplate": "mean %{y:.3f}",
    }
    return build_figure([runs, line], axis, {"title": {"text": "result"}}, hovermode="closest")


def describe_progress(search: PlanSearch) -> str:
    """How many of its runs have finished, and the best of them."""
    of = f" of {search.wanted:,}" if search.wanted and search.wanted >= search.done else ""
    best = search.best
    named = f"; the best so far: {best.result}" if best else ""
    return f"{search.done:,}{of} runs finished{named}" if search.rows else phrasing.NONE
