"""The page of a sweep: one file that works offline, like the page of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from tacit.report import phrasing
from tacit.report.pages.template import render_template
from tacit.report.sweeps.charts import build_charts
from tacit.report.sweeps.figures import Sweep, list_headings, list_rows


class _Promise(NamedTuple):
    """What combinations with one kind of promise have in common, and which they are."""

    where: str
    relation: str
    rests_on: str


def write(sweep: Sweep, plan_text: str, path: Path) -> Path:
    """Return the path of the page, which is there whole or not at all."""
    half = path.with_name(f".{path.name}.part")
    half.write_text(render(sweep, plan_text), encoding="utf-8")
    os.replace(half, path)
    return path


def render(sweep: Sweep, plan_text: str) -> str:
    """Return the page as HTML text."""
    name, drawn = phrasing.METRICS[sweep.leading], build_charts(sweep)
    done = sum(len(one.runs) for one in sweep.tried)
    sent = {phrasing.format_size(one.bytes_up) for one in sweep.tried if one.bytes_up}
    return render_template(
        "sweep.html",
        {one.name: one.figures for one in drawn},
        drawn=drawn,
        sweep=sweep,
        runs=done,
        asked=done + sum(len(one.failed) for one in sweep.tried),
        metric=name[0].upper() + name[1:],
        headings=list_headings(sweep),
        rows=list_rows(sweep),
        sent=sent.pop() if len(sent) == 1 else "",
        promises=_promises(sweep),
        plan=plan_text,
    )


def _promises(sweep: Sweep) -> list[_Promise]:
    """Return each promise once, with the combinations it was made in if there are others."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in sweep.tried:
        for run in one.runs[:1]:
            if run.privacy.relations:
                found.setdefault(
                    ("; ".join(run.privacy.relations), run.privacy.rests_on), []
                ).append(one.title)
    return [
        _Promise("" if len(found) == 1 else f"{'; '.join(titles)}.", *key)
        for key, titles in found.items()
    ]
