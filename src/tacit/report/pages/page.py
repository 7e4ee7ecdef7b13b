"""The report page: a single file that works offline, loads nothing and runs only its own script."""

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
from tacit.report.queries.answers import build_sections, describe_confidence
from tacit.report.verdict import judge_run
from tacit.runs import record

FILE = "report.html"
LEVELS = {"strong": "Strong", "reasonable": "Reasonable", "weak": "Weak", "none": "No protection"}
"""Display names of the protection levels."""


def write(folder: Path) -> Path:
    """Write `report.html` into a run's folder atomically, from its record, and return its path."""
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
    """Render the page as HTML."""
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
        rows=[] if run.answers else [(arm, list_cells(arm)) for arm in run.arms],
        levels=LEVELS,
        settings=_baseline_settings(run),
        votes=build_section(run.votes) if run.votes else None,
        answers=build_sections(run.answers),
        confidence=describe_confidence(run.answers),
        audits=[(audit, build_grids(audit)) for audit in select_latest(run.audits)],
        plan=plan_text,
        when=when,
    )


def _baseline_settings(run: Summary) -> str:
    """Say that baselines have their own settings, if they do."""
    if not has_own_baselines(run.plan):
        return ""
    return (
        "Central training and FedAvg use their own features and learning rates, which do not depend"
        " on epsilon."
    )


def _plan_text(folder: Path, run: Summary) -> str:
    path = folder / "plan.toml"
    return (
        path.read_text(encoding="utf-8")
        if path.exists()
        else json.dumps(run.plan, indent=2, ensure_ascii=False)
    )
