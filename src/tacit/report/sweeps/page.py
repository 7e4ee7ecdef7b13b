"""Page of a sweep: a single file that works offline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from tacit.report import phrasing
from tacit.report.pages.template import render_template
from tacit.report.sweeps.charts import build_charts
from tacit.report.sweeps.figures import Sweep, list_headings, list_rows


class _Guarantee(NamedTuple):
    """A kind of guarantee, and the combinations that have it (empty: all)."""

    where: str
    relation: str
    rests_on: str


def write(sweep: Sweep, plan_text: str, path: Path) -> Path:
    """Write the page atomically and return its path."""
    half = path.with_name(f".{path.name}.part")
    half.write_text(render(sweep, plan_text), encoding="utf-8")
    os.replace(half, path)
    return path


def render(sweep: Sweep, plan_text: str) -> str:
    """Render the page as HTML."""
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
        guarantees=_list_guarantees(sweep),
        plan=plan_text,
    )


def _list_guarantees(sweep: Sweep) -> list[_Guarantee]:
    """List each guarantee once, with its combinations if there are several guarantees."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in sweep.tried:
        for run in one.runs[:1]:
            if run.privacy.relations:
                found.setdefault(
                    ("; ".join(run.privacy.relations), run.privacy.rests_on), []
                ).append(one.title)
    return [
        _Guarantee("" if len(found) == 1 else f"{'; '.join(titles)}.", *key)
        for key, titles in found.items()
    ]
