"""Results as a table for people and as JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench import ROOT
from bench.compare import Result

OUT = ROOT / "bench" / "out"


def write(name: str, results: Sequence[Result]) -> str:
    """Write bench/out/<name>.json and return what was written."""
    OUT.mkdir(parents=True, exist_ok=True)
    text = json.dumps([result.as_dict() for result in results], indent=1)
    (OUT / f"{name}.json").write_text(text + "\n")
    return text


def table(name: str, results: Sequence[Result]) -> Table:
    """Return figure | ours | peer | ratio, with the bar where there is one."""
    grid = Table(
        "figure", "ours", "peer", "theirs", "ratio", "bar", "", title=name, title_justify="left"
    )
    for result in results:
        sign = "≤" if result.better == "lower" else "≥"
        grid.add_row(
            (
                f"{result.figure} ({result.kind} {result.unit})"
                if result.kind != "count"
                else f"{result.figure} ({result.unit})"
            ),
            number(result.ours),
            result.peer,
            number(result.theirs),
            number(result.ratio),
            f"{sign} {number(result.bar)}" if result.bar is not None else "",
            {True: "met", False: "missed", None: ""}[result.met],
        )
    return grid


def number(value: float | None) -> str:
    """A number with three significant digits, in full."""
    if value is None:
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:.2e}"


def show(name: str, results: Sequence[Result], as_json: bool) -> None:
    """Write the results, and print them one way or the other."""
    text = write(name, results)
    if as_json:
        print(text)
        return
    console = Console()
    console.print(table(name, results))
    for note in dict.fromkeys(
        f"{result.figure}, {result.peer}: {result.note}" for result in results if result.note
    ):
        console.print(note, style="dim")
