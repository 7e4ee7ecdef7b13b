"""Runs side by side: curves, the settings that differ, and accuracy by privacy and bytes."""

from __future__ import annotations

import math
from typing import Any

from tacit.report import phrasing
from tacit.report.compare import find_differences, format_setting
from tacit.report.figures import HEADINGS, Summary, list_cells
from tacit.report.pages.charts import Figure, build_byte_axis, build_figure
from tacit.report.pages.compare_page import chart_runs
from tacit.runs.record import RUN
from tacit.ui.jobs.commands import compare_command, show_command
from tacit.ui.records.catalogue import RunCatalogue
from tacit.ui.records.hostile import reading
from tacit.ui.runs.live_charts import Charts, choose_unit

MAX_RUNS = 24
_COLOURS = ("run", "fedavg", "down", "local", "other", "central")
_IGNORED = ("selected_by", "name")
_LEAST, _MOST = 9.0, 32.0
"""Smallest and largest diameter of a mark, in pixels."""


def compare_runs(catalogue: RunCatalogue, names: list[str]) -> dict[str, Any]:
    """Everything that the page of a comparison shows."""
    with reading(", ".join(names)):
        return _compare_runs(catalogue, names)


def _compare_runs(catalogue: RunCatalogue, names: list[str]) -> dict[str, Any]:
    runs = [catalogue.summary(catalogue.find(name)) for name in names[:MAX_RUNS]]
    differences = find_differences({run.name: run.plan for run in runs}) if len(runs) > 1 else {}
    return {
        "runs": runs,
        "command": show_command(compare_command([catalogue.root / run.name for run in runs])),
        "headings": ["run", *HEADINGS[1:]],
        "rows": [(run.name, *list_cells(own)[1:]) for run in runs if (own := run.arm(RUN))],
        "differences": [
            (key, [format_setting(values[run.name]) for run in runs])
            for key, values in differences.items()
            if key not in _IGNORED
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
    """Leading metric by epsilon, one choice per unit, a larger mark being more bytes; and by bytes,
    runs without any epsilon included. One mark per run.
    """
    found, by_bytes = dict[str, list[Figure]](), dict[str, list[Figure]]()
    sizes = [own.bytes_up for run in runs if (own := run.arm(RUN)) and own.bytes_up]
    for number, run in enumerate(runs):
        own = run.arm(RUN)
        totals = tuple(one.total for one in run.privacy.totals)
        unit, lead = choose_unit(totals), run.leading
        if own is None or lead not in own.metrics:
            continue
        name, value = phrasing.METRICS[lead], own.metrics[lead]
        if own.bytes_up:
            plain = _mark(number, run.name, own.bytes_up, value, own.privacy)
            by_bytes.setdefault(f"{name} by bytes per client and round", []).append(plain)
        if unit is not None:
            known = [one.epsilon for one in totals if one.unit == unit and one.epsilon is not None]
            note = f"{phrasing.format_size(own.bytes_up)} up per client and round"
            mark = _mark(number, run.name, known[-1], value, note)
            mark["marker"]["size"] = _find_size(own.bytes_up, sizes)
            found.setdefault(f"{name} by epsilon per {unit}", []).append(mark)
    return {choice: _figure(choice, marks) for choice, marks in (found | by_bytes).items()}


def _mark(number: int, name: str, x: float, y: float, note: str) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "meta": _COLOURS[number % len(_COLOURS)],
        "marker": {"size": 14.0, "opacity": 0.75},
        "x": [x],
        "y": [y],
        "customdata": [note],
        "hovertemplate": "%{x:.4~s}, %{y:.3f}; %{customdata}",
    }


def _find_size(up: int | None, sizes: list[int]) -> float:
    """Diameter of a mark by bytes, on a logarithmic scale between the least and the most."""
    low, high = math.log(max(1, min(sizes, default=1))), math.log(max(1, max(sizes, default=1)))
    share = (math.log(max(1, up or 1)) - low) / (high - low) if high > low else 0.3
    return _LEAST + (_MOST - _LEAST) * max(0.0, min(1.0, share))


def _figure(choice: str, marks: list[Figure]) -> Figure:
    metric, _, unit = choice.partition(" by ")
    known = [mark["x"][0] for mark in marks if mark["x"][0] > 0]
    axis: Figure = {"title": {"text": unit}}
    if unit.startswith("bytes"):
        axis |= build_byte_axis(min(known, default=0), max(known, default=0))
    elif known and max(known) > 10 * min(known):
        axis |= {"type": "log", "dtick": 1}
    else:
        axis |= {"rangemode": "tozero"}
    above: Figure = {"title": {"text": metric}}
    if metric == "accuracy":
        above["tickformat"] = "~%"
    return build_figure(marks, axis, above, hovermode="closest", showlegend=len(marks) <= 8)
