"""Charts as plain plotly figures (dictionaries). Colours are names; the page maps them to light and
dark themes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tacit.report import audits, phrasing
from tacit.report.figures import ArmFigures, Summary
from tacit.runs.record import RUN, Round

Figure = dict[str, Any]
_DASHES = {
    RUN: "solid",
    "fedavg": "dash",
    "central": "dot",
    "local_only": "dashdot",
    "noiseless": "dash",
    "same_features": "dot",
}


class Bins(NamedTuple):
    """Histogram with bins of equal width, by the left edge of each bin."""

    edges: list[float]
    counts: list[int]
    width: float


def build_charts(run: Summary) -> dict[str, dict[str, Figure]]:
    """Build the page's charts: name to one figure per choice of the reader, without empty charts."""
    every = {
        "metric": {
            phrasing.METRICS[name]: _chart_by_round(run, name) for name in _metric_order(run)
        },
        "loss": {"loss": _chart_by_round(run, "loss")},
        "bytes": {"bytes": _bytes(run)},
        "spread": {"accuracy": _spread(run)},
        "rows": {"rows": _rows(run)},
        "rebuilt": {"values": _rebuilt(run)},
    }
    kept = {
        chart: {choice: figure for choice, figure in one.items() if figure["data"]}
        for chart, one in every.items()
    }
    return {chart: one for chart, one in kept.items() if one}


def _metric_order(run: Summary) -> list[str]:
    names = [name for name in phrasing.METRICS if name != "loss"]
    return sorted(names, key=lambda name: name != run.leading)


def _chart_by_round(run: Summary, name: str) -> Figure:
    last = max((arm.rounds for arm in run.arms), default=1)
    return chart_by_round(
        [line for arm in run.arms if (line := build_line(arm, name, last))], name, last
    )


def chart_by_round(lines: list[Figure], name: str, last: int) -> Figure:
    """Chart one metric over rounds."""
    axis: Figure = {"title": {"text": phrasing.METRICS[name]}}
    if name == "accuracy":
        axis["tickformat"] = "~%"
    if len({value for line in lines for value in line["y"]}) == 1:
        axis |= {"rangemode": "tozero"} if name == "loss" else {"range": [0, 1]}
    return build_figure(lines, {"title": {"text": "round"}, **_whole(last)}, axis)


def build_line(arm: ArmFigures, name: str, last: int) -> Figure | None:
    """Line of one metric of an arm by round; None if it was not measured. `last` is the last round
    of the chart.
    """
    points = [(one.round_no, one.metrics[name]) for one in arm.course if name in one.metrics]
    shape = {"dash": _DASHES.get(arm.name, "solid"), "width": 3 if arm.name == RUN else 2}
    hover = "%{y:.1%}" if name == "accuracy" else "%{y:.3f}"
    line: Figure = {
        "type": "scatter",
        "name": arm.title,
        "meta": arm.name,
        "line": shape,
        "hovertemplate": hover,
    }
    if len(points) > 1:
        return {**line, "mode": "lines", "x": [x for x, _ in points], "y": [y for _, y in points]}
    if points and arm.rounds > 1:
        # Evaluated once, as after the last round of a deployment.
        place = {"x": [points[0][0]], "y": [points[0][1]]}
        return {**line, "mode": "markers", "marker": {"size": 9}, **place}
    if name in arm.metrics:
        # An arm without rounds (one fit on pooled rows) is a horizontal line.
        return {
            **line,
            "mode": "lines",
            "x": [min(1, last), max(2, last)],
            "y": [arm.metrics[name]] * 2,
        }
    return None


def _bytes(run: Summary) -> Figure:
    lines = []
    for arm, key, name, colour in (
        (RUN, "bytes_down", "down, this run", "down"),
        ("fedavg", "bytes_up", "up, FedAvg unprotected", "fedavg"),
        (RUN, "bytes_up", "up, this run", RUN),
    ):
        found = run.arm(arm)
        points = _per_client(found.course, key) if found else []
        if any(count > 0 for _, count in points):
            lines.append(
                _byte_line(points, name, colour, dash="dash" if arm == "fedavg" else "solid")
            )
    last = max((arm.rounds for arm in run.arms), default=1)
    heights = [count for line in lines for count in line["y"]]
    scale = build_byte_axis(min(heights), max(heights)) if heights else {}
    axis = {"title": {"text": "bytes per client"}, **scale}
    return build_figure(lines, {"title": {"text": "round"}, **_whole(last)}, axis)


def build_byte_axis(low: float, high: float) -> Figure:
    """Axis of bytes: linear from zero, or logarithmic where values are far apart."""
    if low <= 0 or high < 10 * low:
        return {"rangemode": "tozero", "tickformat": "~s", "ticksuffix": "B"}
    leads = (1, 2, 5) if high < 300 * low else (1,)
    ticks = [
        lead * 10**power
        for power in range(int(math.log10(low)), int(math.log10(high)) + 2)
        for lead in leads
    ]
    # A margin above and below, so that no line lies on the frame.
    limits = [math.log10(low / 2), math.log10(high * 2)]
    return {
        "type": "log",
        "range": limits,
        "tickvals": ticks,
        "ticktext": [_round_size(tick) for tick in ticks],
    }


def _round_size(tick: int) -> str:
    return phrasing.format_size(tick).replace(".00", "").replace(".0", "")


def _per_client(course: list[Round], key: str) -> list[tuple[int, float]]:
    return [(one.round_no, getattr(one, key) / one.cohort) for one in course if one.cohort]


def _byte_line(points: list[tuple[int, float]], name: str, colour: str, dash: str) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(points) == 1 else "lines",
        "name": name,
        "meta": colour,
        "line": {"width": 2.5, "dash": dash},
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "customdata": [phrasing.format_size(y) for _, y in points],
        "hovertemplate": "%{customdata}",
    }


def _spread(run: Summary) -> Figure:
    bars = []
    for arm in (arm for arm in run.arms if arm.spread and arm.name in (RUN, "fedavg")):
        bins = _bins(arm.spread, low=0.0, step=0.05, count=20)
        bars.append(_bars(arm.title, arm.name, bins, lambda low: f"{low:.0%} to {low + 0.05:.0%}"))
    axis = {
        "title": {"text": "accuracy on the client's own rows"},
        "tickformat": ".0%",
        "range": [0, 1.02],
        "dtick": 0.2,
    }
    return build_figure(bars, axis, {"title": {"text": "clients"}}, barmode="overlay")


def _rows(run: Summary) -> Figure:
    sizes = run.data.rows_per_client if run.data else []
    if not sizes:
        return build_figure([], {}, {})
    low, high = min(sizes), max(sizes)
    step = max(1, -(-(high - low + 1) // 24))
    bins = _bins(sizes, low=float(low), step=float(step), count=(high - low) // step + 1)

    def describe(x: float) -> str:
        return f"{x:.0f} rows" if step == 1 else f"{x:.0f} to {x + step - 1:.0f} rows"

    # A bar of a single value is centred on that value.
    shift = -0.5 if step == 1 else 0.0
    bars = [_bars("clients", "rows", bins, describe, shift)]
    margin = max(float(step), 0.05 * high)
    axis: Figure = {
        "title": {"text": "rows per client"},
        "range": [max(0.0, low - margin), high + step + margin],
        "tickformat": "d",
    }
    if high + step - low + 2 * margin < 9:
        axis["dtick"] = 1
    whole = {"dtick": 1} if max(bins.counts) < 6 else {}
    return build_figure(bars, axis, {"title": {"text": "clients"}, "tickformat": "d", **whole})


def _rebuilt(run: Summary) -> Figure:
    """Values that a client sent against those that a server without the secret reconstructed from
    its tokens.
    """
    points = audits.select_rebuilt(run.audits)
    dots = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{kind} tokens",
            "meta": colour,
            "marker": {"size": 6, "opacity": 0.7, "symbol": shape},
            "x": points["true"],
            "y": points[kind],
            "hovertemplate": "true %{x}, reconstructed %{y}",
        }
        for kind, colour, shape in (("keyed", "run", "circle-open"), ("static", "other", "circle"))
        if kind in points
    ]
    return build_figure(
        dots,
        {"title": {"text": "true value"}},
        {"title": {"text": "reconstructed value"}},
        hovermode="closest",
    )


def _bins(values: Iterable[float], low: float, step: float, count: int) -> Bins:
    counts = [0] * count
    for value in values:
        # The tiny offset keeps 0.15 out of the bin below it, where float division would put it.
        counts[max(0, min(count - 1, int((value - low) / step + 1e-9)))] += 1
    return Bins([low + step * place for place in range(count)], counts, step)


def _bars(
    name: str, colour: str, bins: Bins, describe: Callable[[float], str], shift: float = 0.0
) -> Figure:
    return {
        "type": "bar",
        "name": name,
        "meta": colour,
        "x": [edge + bins.width / 2 + shift for edge in bins.edges],
        "y": [count or None for count in bins.counts],
        "width": bins.width * 0.92,
        "customdata": [describe(edge) for edge in bins.edges],
        "hovertemplate": "%{customdata}: %{y} clients<extra></extra>",
    }


def _whole(last: int) -> Figure:
    return {
        "range": [0.5, last + 0.5] if last == 1 else [1 - last * 0.01, last * 1.01],
        "tickformat": "d",
        "nticks": min(last + 1, 9),
    }


def build_figure(data: list[Figure], xaxis: Figure, yaxis: Figure, **layout: Any) -> Figure:
    """Figure with two fixed axes."""
    quiet = {"automargin": True, "zeroline": False, "fixedrange": True}
    return {
        "data": data,
        "layout": {
            "xaxis": {**xaxis, **quiet},
            "yaxis": {**yaxis, **quiet},
            "hovermode": "x unified" if data and data[0]["type"] == "scatter" else "closest",
            "showlegend": len(data) > 1,
            **layout,
        },
    }
