"""The report page: one file that works offline, asks nobody for anything, and runs no script but its own."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from tacit import record
from tacit.report import classes
from tacit.report.audits import grids, latest
from tacit.report.cards import cards, facts
from tacit.report.causes import has_own_baselines
from tacit.report.charts import charts
from tacit.report.figures import HEADINGS, Summary, cells, summary
from tacit.report.phrasing import experiment
from tacit.report.template import rendered
from tacit.report.verdict import verdict
from tacit.report.votes_page import section

FILE = "report.html"
LEVELS = {"strong": "Strong", "reasonable": "Reasonable", "weak": "Weak", "none": "No protection"}
"""How the levels of a promise are called beside their light."""


def write(folder: Path) -> Path:
    """Return the path of `report.html` in a run's folder, written anew from its record.

    Guarantees: the page is there whole or not at all.
    """
    source = folder / "record.jsonl"
    run = summary(record.read(source), name=folder.resolve().name)
    written = datetime.fromtimestamp(source.stat().st_mtime, tz=UTC)
    half = folder / f".{FILE}.part"
    try:
        half.write_text(render(run, _plan_text(folder, run), f"{written:%Y-%m-%d %H:%M} UTC"), encoding="utf-8")
        os.replace(half, folder / FILE)
    finally:
        half.unlink(missing_ok=True)
    return folder / FILE


def render(run: Summary, plan_text: str, when: str = "") -> str:
    """Return the page as HTML text."""
    found = run.corrupted
    return rendered(
        "page.html",
        charts(run),
        run=run,
        cards=cards(run),
        experiment=experiment(found.corruption, len(found.clients), found.of_clients) if found else "",
        facts=facts(run),
        verdict=verdict(run),
        class_headings=classes.HEADINGS,
        classes=classes.cells(run),
        headings=HEADINGS,
        rows=[(arm, cells(arm)) for arm in run.arms],
        levels=LEVELS,
        settings=_baseline_settings(run),
        votes=section(run.votes) if run.votes else None,
        audits=[(audit, grids(audit)) for audit in latest(run.audits)],
        plan=plan_text,
        when=when,
    )


def _baseline_settings(run: Summary) -> str:
    """Return where baselines have their settings from, if not from the plan."""
    if not has_own_baselines(run.plan):
        return ""
    return "Central training and FedAvg have features and learning rates of their own, the same for every epsilon."


def _plan_text(folder: Path, run: Summary) -> str:
    path = folder / "plan.toml"
    return path.read_text(encoding="utf-8") if path.exists() else json.dumps(run.plan, indent=2, ensure_ascii=False)
