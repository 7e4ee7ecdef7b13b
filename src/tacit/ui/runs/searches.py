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

from tacit.plan.grid import BASELINE_NOTE
from tacit.report import phrasing
from tacit.report.compare import find_differences, format_setting
from tacit.report.pages.charts import Figure, build_figure
from tacit.ui.records.catalogue import RunRow
from tacit.ui.runs.live_charts import Charts

_SWEEP = re.compile(r"tacit plan sweep: one of ([\d,]{1,9}) runs over (.{1,200}) on the same rows")
_TUNE = "tacit plan tune: one of its runs"
_IGNORED = (
    "selected_by",
    "engine.",
    "name",
    "baselines",
    "privacy.clients",
    "server.evaluate_every",
)
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
    baselines: tuple[tuple[str, RunRow], ...] = ()
    """Unprotected runs to compare with, each with its arm."""

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
        note = row.selected_by.partition(BASELINE_NOTE)[0]
        if note.startswith(_TUNE) or _SWEEP.match(note):
            groups.setdefault((str(row.plan.get("name")), note), []).append(row)
    return [_build(name, note, found) for (name, note), found in groups.items()]


def _build(name: str, note: str, rows: list[RunRow]) -> PlanSearch:
    sweep = _SWEEP.match(note)
    own = [row for row in rows if BASELINE_NOTE not in row.selected_by]
    named = [one.strip() for one in sweep[2].split(",")] if sweep else []
    differing = [
        key
        for key in find_differences({row.name: row.plan for row in own})
        if not key.startswith(_IGNORED)
    ]
    keys = [key for key in named if key in differing]
    keys += [key for key in differing if key == "seed" or not keys]
    return PlanSearch(
        key=hashlib.sha256(f"{name}\0{note}".encode("utf-8", "replace")).hexdigest()[:16],
        kind="sweep" if sweep else "search",
        name=name,
        wanted=int(sweep[1].replace(",", "")) if sweep else None,
        settings=tuple(dict.fromkeys(keys))[:_MAX_KEYS],
        rows=tuple(own),
        baselines=tuple(
            (phrasing.name_arm(row.selected_by.partition(BASELINE_NOTE)[2]), row)
            for row in rows
            if BASELINE_NOTE in row.selected_by
        ),
    )


def read_setting(plan: dict[str, Any], key: str) -> Any:
    """A setting of a plan by its dotted key; None if it is missing."""
    found: Any = plan
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def chart_search(search: PlanSearch) -> Charts:
    """Result by each setting, with the mean of equal values; one chart per setting, except seeds."""
    values = [(row, row.value) for row in search.rows if row.value is not None]
    found: dict[str, Figure] = {}
    for key in search.settings:
        points = [
            (x, value, row.name)
            for row, value in values
            if (x := read_setting(row.plan, key)) is not None
        ]
        if len({repr(x) for x, _, _ in points}) > 1 and key != "seed":
            found[key] = _chart(key, points, _list_levels(search))
    return {"search": found}


def _list_levels(search: PlanSearch) -> list[tuple[str, float]]:
    """The mean result of each baseline arm."""
    by_arm: dict[str, list[float]] = {}
    for arm, row in search.baselines:
        if row.value is not None and not row.is_open:
            by_arm.setdefault(arm, []).append(row.value)
    return [(arm, fmean(values)) for arm, values in by_arm.items()]


def _chart(
    key: str, points: list[tuple[Any, float, str]], levels: list[tuple[str, float]]
) -> Figure:
    is_number = all(isinstance(x, int | float) and not isinstance(x, bool) for x, _, _ in points)
    if not is_number:
        points = [(format_setting(x), y, name) for x, y, name in points]
    by_value: dict[Any, list[float]] = {}
    for x, y, _ in points:
        by_value.setdefault(x, []).append(y)
    means = sorted((x, fmean(ys)) for x, ys in by_value.items())
    axis: Figure = {"title": {"text": key}}
    if not is_number:
        axis["type"] = "category"
    elif means[0][0] > 0 and means[-1][0] > 10 * means[0][0]:
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
    flat = [_level(arm, value, means, place) for place, (arm, value) in enumerate(levels)]
    above: Figure = {"title": {"text": "result"}}
    return build_figure([runs, line, *flat], axis, above, hovermode="closest")


def _level(arm: str, value: float, means: list[tuple[Any, float]], place: int) -> Figure:
    """A horizontal line: the mean result of a baseline."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{arm}, mean",
        "meta": ("fedavg", "local", "other", "down")[place % 4],
        "line": {"width": 1.5, "dash": "dash"},
        "x": [means[0][0], means[-1][0]],
        "y": [value, value],
        "hovertemplate": "%{y:.3f}",
    }


def describe_progress(search: PlanSearch) -> str:
    """How many of its runs have finished, and the best of them."""
    of = f" of {search.wanted:,}" if search.wanted and search.wanted >= search.done else ""
    parts = [f"{search.done:,}{of} runs finished"]
    if search.baselines:
        done = sum(not row.is_open for _, row in search.baselines)
        parts.append(f"and {done:,} of {len(search.baselines):,} baselines")
    best = search.best
    if best:
        parts.append(f"best so far: {best.result} ({best.name})")
    return ", ".join(parts) + "."
