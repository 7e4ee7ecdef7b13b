"""The report page: one file that works offline, asks nobody for anything, and runs no script but
its own.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from tacit.report import classes
from tacit.report.audits import build_grids, select_latest
from tacit.report.causes import has_own_baselines
from tacit.report.figures import HEADINGS, Summary, list_cells, summarise
from tacit.report.pages.cards import build_cards, list_facts
from tacit.report.pages.charts import build_charts
from tacit.report.pages.template import render_template
from tacit.report.pages.votes_page import build_section
from tacit.report.phrasing import describe_experiment
from tacit.report.verdict import judge_run
from tacit.runs import record

FILE = "report.html"
LEVELS = {"strong": "Strong", "reasonable": "Reasonable", "weak": "Weak", "none": "No protection"}
"""How the levels of a promise are called beside their light."""


def write(folder: Path) -> Path:
    """Return the path of `report.html` in a run's folder, written anew from its record.

    Guarantees: the page is there whole or not at all.
    """
    source = folder / "record.jsonl"
    run = summarise(record.read(source), name=folder.resolve().name)
    written = datetime.fromtimestamp(source.stat().st_mtime, tz=UTC)
    half = folder / f".{FILE}.part"
    try:
        half.write_text(
            render(run, _plan_text(folder, run), f"{written:%Y-%m-%d %H:%M} UTC"), encoding="utf-8"
        )
        os.replace(half, folder / FILE)
    finally:
        half.unlink(missing_ok=True)
    return folder / FILE


def render(run: Summary, plan_text: str, when: str = "") -> str:
    """Return the page as HTML text."""
    found = run.corrupted
    return render_template(
        "page.html",
        build_charts(run),
        run=run,
        cards=build_cards(run),
        experiment=(
            describe_experiment(found.corruption, len(found.clients), found.of_clients)
            if found
            else ""
        ),
        facts=list_facts(run),
        verdict=judge_run(run),
        class_headings=classes.HEADINGS,
        classes=classes.list_cells(run),
        headings=HEADINGS,
        rows=[(arm, list_cells(arm)) for arm in run.arms],
        levels=LEVELS,
        settings=_baseline_settings(run),
        votes=build_section(run.votes) if run.votes else None,
        audits=[(audit, build_grids(audit)) for audit in select_latest(run.audits)],
        plan=plan_text,
        when=when,
    )


def _baseline_settings(run: Summary) -> str:
    """Return where baselines have their settings from, if not from the plan."""
    if not has_own_baselines(run.plan):
        return ""
    return (
        "Central training and FedAvg have features and learning rates of their own, the same for"
        " every epsilon."
    )


def _plan_text(folder: Path, run: Summary) -> str:
    path = folder / "plan.toml"
    return (
        path.read_text(encoding="utf-8")
        if path.exists()
        else json.dumps(run.plan, indent=2, ensure_ascii=False)
    )
