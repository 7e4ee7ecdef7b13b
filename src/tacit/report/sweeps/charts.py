"""Charts of a sweep: the metric by epsilon, by bytes, and by each numeric setting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tacit.report import phrasing
from tacit.report.pages.charts import Figure, build_byte_axis, build_figure
from tacit.report.sweeps.clients_needed import KEY, ClientsNeeded, find_clients_needed
from tacit.report.sweeps.figures import UNITS, Combination, Mean, Sweep, format_mean, format_privacy

_COLOURS = ("run", "fedavg", "down", "local", "other", "central")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
_DASHES = {"fedavg": "dash", "central": "dot", "local_only": "dashdot"}
_FAR_APART = 8
"""An axis is logarithmic from this ratio of its largest to its smallest value."""

_MOST_TICKS = 8
_SAME = 1e-3
"""Values that differ by less share a tick: the last digits of an epsilon differ between runs."""


class ChartLine(NamedTuple):
    """One line of a chart in the legend below it."""

    name: str
    colour: str
    dash: str


Where = Callable[[Combination], float | None]
Placed = tuple[float, Combination]


class Chart(NamedTuple):
    """One chart of the page: title, note, figures by the reader's choice, and legend."""

    name: str
    title: str
    note: str
    figures: dict[str, Figure]
    keys: str
    lines: list[ChartLine]


def build_charts(sweep: Sweep) -> list[Chart]:
    """Build the page's charts, without those that would have a single x value."""
    metric = phrasing.METRICS[sweep.leading]
    metric = metric[0].upper() + metric[1:]
    bars = (
        "Bars are 95 % confidence intervals of the mean over seeds (Student's t). "
        if sweep.seeds > 1
        else ""
    )
    first = next(iter(sweep.varied), None)
    by_epsilon = {
        f"epsilon per {unit}": _chart_along(
            sweep, _read_epsilon(unit), _epsilon_axis(sweep, unit), first
        )
        for unit in UNITS
    }
    by_bytes = {
        "bytes": _chart_along(
            sweep, lambda one: one.bytes_up, _byte_axis(sweep), first, baselines=False
        )
    }
    sent = "Measured on the serialised messages of one client. Further left is less traffic."
    wanted = [
        _chart(
            sweep,
            "privacy",
            f"{metric} by epsilon",
            f"{bars}Further left is more private.",
            by_epsilon,
            first,
        ),
        _chart(sweep, "bytes", f"{metric} by bytes", sent, by_bytes, first),
        _chart_clients_needed(sweep, metric),
    ]
    for number, key in enumerate(sweep.varied):
        if not _is_epsilon(key):
            figures = {key: _chart_along(sweep, _read_number(key), {"title": {"text": key}}, key)}
            wanted.append(
                _chart(sweep, f"setting-{number}", f"{metric} by {key}", bars, figures, key)
            )
    return [one for one in wanted if one.figures]


def _chart(
    sweep: Sweep, name: str, title: str, note: str, figures: dict[str, Figure], own: str | None
) -> Chart:
    kept = {choice: figure for choice, figure in figures.items() if _is_spread(figure)}
    traces: list[Figure] = next((figure["data"] for figure in kept.values()), [])
    lines = [
        ChartLine(trace["name"], trace["meta"], trace["line"].get("dash", "solid"))
        for trace in traces
        if trace["showlegend"]
    ]
    keys = ", ".join(key for key in sweep.varied if key != own)
    return Chart(name, title, note, kept, keys, lines if len(lines) > 1 else [])


def _chart_clients_needed(sweep: Sweep, metric: str) -> Chart:
    """Chart the number of clients needed by epsilon, one line per level."""
    figures: dict[str, Figure] = {}
    for unit in UNITS:
        found = find_clients_needed(sweep, unit)
        lines = [_chart_needed_clients(sweep, number, one) for number, one in enumerate(found)]
        scale = _scale(sorted({x for one in found for x, _ in one.points}))
        clients = sorted({float(one.settings[KEY]) for one in sweep.tried}) if lines else []
        above: Figure = {"title": {"text": "clients needed"}, **_scale(clients)}
        figures[f"epsilon per {unit}"] = build_figure(
            lines,
            {**scale, **_epsilon_axis(sweep, unit)},
            above,
            hovermode="closest",
            showlegend=False,
        )
    note = (
        "Interpolated linearly in the logarithm of the number of clients. A line ends where the"
        " answer is below the smallest or above the largest number of clients in the sweep."
    )
    made = _chart(
        sweep,
        "needed",
        f"Clients needed for a given {metric if metric.isupper() else metric.lower()}",
        note,
        figures,
        None,
    )
    return made._replace(keys=phrasing.METRICS[sweep.leading])


def _chart_needed_clients(sweep: Sweep, number: int, one: ClientsNeeded) -> Figure:
    name = phrasing.format_metric(sweep.leading, one.level)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "showlegend": True,
        "meta": _COLOURS[number % len(_COLOURS)],
        "line": {"width": 2.5},
        "marker": {"size": 8},
        "x": [epsilon for epsilon, _ in one.points],
        "y": [clients for _, clients in one.points],
        "hovertemplate": f"{name} at epsilon %{{x:.3g}}: about %{{y:,.2r}} clients<extra></extra>",
    }


def _is_epsilon(key: str) -> bool:
    """Whether a setting is an epsilon, which has a chart of its own."""
    return key.rpartition(".")[2] == "epsilon"


def _read_epsilon(unit: str) -> Where:
    def where(one: Combination) -> float | None:
        total = one.total(unit)
        return total.epsilon if total else None

    return where


def _read_number(key: str) -> Where:
    def where(one: Combination) -> float | None:
        try:
            value = float(one.settings[key])
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    return where


def _chart_along(
    sweep: Sweep, where: Where, axis: Figure, own: str | None, *, baselines: bool = True
) -> Figure:
    """Chart the leading metric along an axis, one line per combination of the settings except
    `own`.
    """
    lines: dict[str, list[Placed]] = {}
    for one in sweep.tried:
        if one.runs and (x := where(one)) is not None:
            name = ", ".join(one.settings[key] for key in sweep.varied if key != own)
            lines.setdefault(name, []).append((x, one))
    drawn = [
        _line(sweep, number, name, points) for number, (name, points) in enumerate(lines.items())
    ]
    if baselines:
        drawn += [
            trace
            for arm in sweep.baselines
            for trace in _baseline_lines(sweep, arm, list(lines.values()))
        ]
    metric: Figure = {"title": {"text": phrasing.METRICS[sweep.leading]}}
    if sweep.leading == "accuracy":
        metric["tickformat"] = "~%"
    scale = _scale(sorted({x for points in lines.values() for x, _ in points}))
    return build_figure(drawn, {**scale, **axis}, metric, hovermode="closest", showlegend=False)


def _line(sweep: Sweep, number: int, name: str, points: list[Placed]) -> Figure:
    points = sorted(points, key=lambda point: point[0])
    means = [mean for _, one in points if (mean := one.metric(sweep.leading)) is not None]
    line: Figure = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name or "this plan",
        "showlegend": True,
        "meta": _COLOURS[number % len(_COLOURS)],
        "line": {"width": 2.5},
        "marker": {"size": 8, "symbol": _SYMBOLS[number // len(_COLOURS) % len(_SYMBOLS)]},
        "x": [x for x, _ in points],
        "y": [mean.value for mean in means],
        "customdata": [_hover(sweep, one) for _, one in points],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    return (
        line
        if any(mean.ends is None for mean in means)
        else {**line, "error_y": _error(sweep, means)}
    )


def _error(sweep: Sweep, means: list[Mean]) -> Figure:
    """Confidence intervals as error bars, clipped to [0, 1] for all metrics except the loss."""
    top = math.inf if sweep.leading == "loss" else 1.0
    above = [min(mean.ends[1], top) - mean.value for mean in means if mean.ends]
    below = [mean.value - max(mean.ends[0], 0.0) for mean in means if mean.ends]
    return {
        "type": "data",
        "array": above,
        "arrayminus": below,
        "symmetric": False,
        "thickness": 1.2,
        "width": 4,
    }


def _hover(sweep: Sweep, one: Combination) -> str:
    metric = (
        f"{phrasing.METRICS[sweep.leading]} {format_mean(sweep.leading, one.metric(sweep.leading))}"
    )
    facts = [
        metric,
        f"privacy: {format_privacy(sweep, one)}",
        f"{phrasing.format_size(one.bytes_up)} up per client and round",
    ]
    return "<br>".join([one.title, *facts])


def _baseline_lines(sweep: Sweep, arm: str, lines: list[list[Placed]]) -> list[Figure]:
    """Thin lines of a baseline, without duplicates: horizontal if its figure is constant, else one
    per line of the sweep.
    """
    courses = [
        sorted((x, mean.value) for x, one in points if (mean := one.baseline(arm, sweep.leading)))
        for points in lines
    ]
    xs = [x for course in courses for x, _ in course]
    level = [
        (
            [(min(xs), course[0][1]), (max(xs), course[0][1])]
            if len({y for _, y in course}) == 1
            else course
        )
        for course in courses
    ]
    once = list(dict.fromkeys(tuple(course) for course in level if course))
    title = phrasing.name_arm(arm)
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": title,
            "showlegend": number == 0,
            "meta": "central" if len(once) == 1 else _COLOURS[number % len(_COLOURS)],
            "line": {"width": 1.5, "dash": _DASHES.get(arm, "dash")},
            "x": [x for x, _ in course],
            "y": [y for _, y in course],
            "hovertemplate": f"{title}: %{{y:.3f}}<extra></extra>",
        }
        for number, course in enumerate(once)
    ]


def _epsilon_axis(sweep: Sweep, unit: str) -> Figure:
    deltas = sorted({total.delta for one in sweep.tried if (total := one.total(unit)) is not None})
    at = f", delta {deltas[0]:g}" if len(deltas) == 1 and deltas[0] else ""
    return {"title": {"text": f"epsilon per {unit}{at}"}}


def _byte_axis(sweep: Sweep) -> Figure:
    sent = [one.bytes_up for one in sweep.tried if one.bytes_up]
    scale = build_byte_axis(min(sent), max(sent)) if sent else {}
    return {
        "title": {"text": "bytes sent per client and round"},
        "type": "linear",
        "tickvals": None,
        "ticktext": None,
        **scale,
    }


def _scale(values: list[float]) -> Figure:
    """Axis with a tick at each of a few ascending values, logarithmic if they are far apart."""
    values = [
        value for n, value in enumerate(values) if not n or value > values[n - 1] * (1 + _SAME)
    ]
    texts = [f"{value:,.4g}" if value < 1000 else f"{value:,.0f}" for value in values]
    ticks = {"tickvals": values, "ticktext": texts} if 1 < len(values) <= _MOST_TICKS else {}
    powers = bool(values) and values[0] > 0 and values[-1] >= _FAR_APART * values[0]
    return {**ticks, **({"type": "log"} if powers else {})}


def _is_spread(figure: Figure) -> bool:
    """Whether a figure has at least two x values that differ by more than rounding."""
    xs = [x for trace in figure["data"] for x in trace["x"]]
    return len(xs) > 1 and max(xs) > min(xs) * 1.02 + 1e-12
