"""Page of a search for settings, with every run on validation rows; it works offline."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tacit.report.pages.charts import Figure, chart_by_round
from tacit.report.pages.template import render_template

_ROUNDS = "server.rounds"


@dataclass(frozen=True, kw_only=True)
class SearchRun:
    """One run of a search: its settings and its accuracy on validation rows; None with an error if
    it failed.
    """

    settings: dict[str, str]
    accuracy: float | None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class TuneSearch:
    """All runs in the order of the search; `planned` and `best` have all rounds.

    `clients` is the number of clients of the runs, if smaller than the plan's.
    """

    name: str
    tried: list[SearchRun]
    planned: SearchRun
    best: SearchRun
    clients: int | None = None


def write(search: TuneSearch, plan_text: str, path: Path) -> Path:
    """Write the page atomically and return its path."""
    half = path.with_name(f".{path.name}.part")
    half.write_text(render(search, plan_text), encoding="utf-8")
    os.replace(half, path)
    return path


def render(search: TuneSearch, plan_text: str) -> str:
    """Render the page as HTML."""
    return render_template(
        "tune.html",
        _charts(search),
        search=search,
        rows=[
            (
                list_changes(search, one),
                one.settings[_ROUNDS],
                format_percent(one),
                one == search.best,
            )
            for one in search.tried
        ],
        planned=format_percent(search.planned),
        best=format_percent(search.best),
        winner=list_changes(search, search.best),
        failed=[
            (f"{list_changes(search, one)}, {one.settings[_ROUNDS]} rounds", one.error)
            for one in search.tried
            if one.accuracy is None
        ],
        plan=plan_text,
    )


def list_changes(search: TuneSearch, one: SearchRun) -> str:
    """Settings in which a run differs from the plan, except its rounds."""
    own = search.planned.settings
    return (
        ", ".join(
            f"{key} = {value}"
            for key, value in one.settings.items()
            if key != _ROUNDS and value != own[key]
        )
        or "the plan"
    )


def format_percent(one: SearchRun) -> str:
    """Accuracy of a run in percent."""
    return "failed" if one.accuracy is None else f"{100 * one.accuracy:.1f} %"


def _charts(search: TuneSearch) -> dict[str, dict[str, Figure]]:
    """Chart accuracy by number of rounds, one line per settings."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for one in search.tried:
        if one.accuracy is not None:
            lines.setdefault(list_changes(search, one), []).append(
                (int(one.settings[_ROUNDS]), one.accuracy)
            )
    plan, best = "the plan", list_changes(search, search.best)
    # The plan and the best are drawn last, above the others.
    ordered = sorted(lines, key=lambda title: (title == best, title == plan))
    drawn = [
        _line(
            title,
            sorted(lines[title]),
            "run" if title == plan else "fedavg" if title == best else "",
        )
        for title in ordered
    ]
    last = max((x for points in lines.values() for x, _ in points), default=1)
    return {"search": {"accuracy": chart_by_round(drawn, "accuracy", last)}} if drawn else {}


def _line(title: str, points: list[tuple[int, float]], colour: str) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": title,
        "meta": colour or "central",
        "showlegend": bool(colour),
        "opacity": 1.0 if colour else 0.45,
        "line": {"width": 3 if colour else 1.5},
        "marker": {"size": 8 if colour else 5},
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "hovertemplate": "%{y:.1%}",
    }
