"""Page that compares runs, one line each; a single file that works offline."""

from __future__ import annotations

import os
from pathlib import Path

from tacit.report import phrasing
from tacit.report.compare import find_differences, format_setting
from tacit.report.figures import HEADINGS, Summary, list_cells
from tacit.report.pages.charts import Figure, build_line, chart_by_round
from tacit.report.pages.template import render_template
from tacit.runs.record import RUN

_COLOURS = ("run", "fedavg", "down", "local", "other", "central")
_DASHES = ("solid", "dash", "dot", "dashdot")


def write(runs: list[Summary], path: Path) -> Path:
    """Write the page atomically and return its path."""
    half = path.with_name(f".{path.name}.part")
    half.write_text(render(runs), encoding="utf-8")
    os.replace(half, path)
    return path


def render(runs: list[Summary]) -> str:
    """Render the page as HTML."""
    differences = find_differences({run.name: run.plan for run in runs})
    return render_template(
        "compare.html",
        chart_runs(runs),
        runs=runs,
        headings=["run", *HEADINGS[1:]],
        rows=[(run.name, *list_cells(own)[1:]) for run in runs if (own := run.arm(RUN))],
        differences=[
            (key, [format_setting(values[run.name]) for run in runs])
            for key, values in differences.items()
        ],
    )


def chart_runs(runs: list[Summary]) -> dict[str, dict[str, Figure]]:
    """Chart each metric of several runs by round, one line per run."""
    names = sorted(phrasing.METRICS, key=lambda name: name != runs[0].leading)
    every = {phrasing.METRICS[name]: _chart(runs, name) for name in names}
    kept = {choice: figure for choice, figure in every.items() if figure["data"]}
    return {"metric": kept} if kept else {}


def _chart(runs: list[Summary], name: str) -> Figure:
    last = max((own.rounds for run in runs if (own := run.arm(RUN))), default=1)
    lines = []
    for number, run in enumerate(runs):
        own = run.arm(RUN)
        line = build_line(own, name, last) if own else None
        if line:
            shape = {"dash": _DASHES[number // len(_COLOURS) % len(_DASHES)], "width": 2.5}
            lines.append(
                {**line, "name": run.name, "meta": _COLOURS[number % len(_COLOURS)], "line": shape}
            )
    return chart_by_round(lines, name, last)
