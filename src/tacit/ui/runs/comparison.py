"""Runs side by side: curves, the settings that differ, and accuracy by privacy and bytes."""

from __future__ import annotations

import math
from typing import Any

from tacit.report import phrasing
from tacit.report.compare import find_differences, format_setting
from tacit.report.figures import HEADINGS, Summary, list_cells
from tacit.report.pages.charts import Figure, build_figure
from tacit.report.pages.compare_page import chart_runs
from tacit.runs.record import RUN
from tacit.ui.records.catalogue import RunCatalogue
from tacit.ui.runs.live_charts import Charts, choose_unit

MAX_RUNS = 24
_COLOURS = ("run", "fedavg", "down", "local", "other", "central")
_LEAST, _MOST = 9.0, 32.0
"""Smallest and largest diameter of a mark, in pixels."""


def compare_runs(catalogue: RunCatalogue, names: list[str]) -> dict[str, Any]:
    """Everything that the page of a comparison shows."""
    runs = [catalogue.summary(catalogue.find(name)) for name in names[:MAX_RUNS]]
    differences = find_differences({run.name: run.plan for run in runs}) if len(runs) > 1 else {}
    return {
        "runs": runs,
        "headings": ["run", *HEADINGS[1:]],
        "rows": [(run.name, *list_cells(own)[1:]) for run in runs if (own := run.arm(RUN))],
        "differences": [
            (key, [format_setting(values[run.name]) for run in runs])
            for key, values in differences.items()
        ],
        "charts": chart_comparison(runs),
    }


def chart_comparison(runs: list[Summary]) -> Charts:
    """Curves by round, and accuracy by epsilon."""
    return {
        "metric": chart_runs(runs).get("metric", {}) if runs else {},
        "tradeoff": chart_trade_off(runs),
    }


def chart_trade_off(runs: list[Summary]) -> dict[str, Figure]:
    """Leading metric by epsilon, one mark per run; a larger mark is more bytes. One choice per unit."""
    found: dict[str, list[Figure]] = {}
    sizes = [own.bytes_up for run in runs if (own := run.arm(RUN)) and own.bytes_up]
    for number, run in enumerate(runs):
        own = run.arm(RUN)
        totals = tuple(one.total for one in run.privacy.totals)
        unit, lead = choose_unit(totals), run.leading
        if own is None or unit is None or lead not in own.metrics:
            continue
        epsilon = [one.epsilon for one in totals if one.unit == unit and one.epsilon is not None]
        mark = _mark(number, run.name, epsilon[-1], own.metrics[lead], own.bytes_up, sizes)
        found.setdefault(f"{phrasing.METRICS[lead]} by epsilon per {unit}", []).append(mark)
    return {choice: _figure(choice, marks) for choice, marks in found.items()}


def _mark(
    number: int, name: str, epsilon: float, value: float, up: int | None, sizes: list[int]
) -> Figure:
    low, high = math.log(max(1, min(sizes, default=1))), math.log(max(1, max(sizes, default=1)))
    share = (math.log(max(1, up or 1)) - low) / (high - low) if high > low else 0.3
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "meta": _COLOURS[number % len(_COLOURS)],
        "marker": {"size": _LEAST + (_MOST - _LEAST) * max(0.0, min(1.0, share)), "opacity": 0.75},
        "x": [epsilon],
        "y": [value],
        "customdata": [phrasing.format_size(up)],
        "hovertemplate": "epsilon %{x:.4~g}, %{y:.3f}, %{customdata} up per client and round",
    }


def _figure(choice: str, marks: list[Figure]) -> Figure:
    known = [mark["x"][0] for mark in marks if mark["x"][0] > 0]
    wide = bool(known) and max(known) > 10 * min(known)
    axis: Figure = {"title": {"text": choice.partition(" by ")[2]}}
    axis |= {"type": "log", "dtick": 1} if wide else {"rangemode": "tozero"}
    above: Figure = {"title": {"text": choice.partition(" by ")[0]}}
    if choice.startswith("accuracy"):
        above["tickformat"] = "~%"
    return build_figure(marks, axis, above, hovermode="closest", showlegend=len(marks) <= 8)
