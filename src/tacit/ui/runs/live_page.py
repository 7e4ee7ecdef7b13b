"""The page of one run, live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.privacy.statement import prose
from tacit.report import phrasing
from tacit.report.audits import build_grids, select_latest
from tacit.report.figures import HEADINGS, Summary, list_cells
from tacit.report.pages.cards import build_cards, list_facts
from tacit.report.pages.page import LEVELS
from tacit.report.verdict import judge_run
from tacit.runs.record import RUN
from tacit.ui.events import Change
from tacit.ui.jobs.commands import describe_stop, resume_run, show_command
from tacit.ui.jobs.workers import read_worker
from tacit.ui.records.catalogue import RunCatalogue
from tacit.ui.records.hostile import reading
from tacit.ui.records.index import RecordIndex
from tacit.ui.records.summaries import find_budget, list_begun_arms
from tacit.ui.rendering import render_part
from tacit.ui.runs.live_charts import Charts, build_live_charts, describe_cohort

PARTS = ("state", "cards", "stages", "privacy", "refusals", "arms", "findings")
"""Parts of the page that change while the run works; each has a template of its own."""


@dataclass(frozen=True, kw_only=True)
class RunStage:
    """One arm of a run: how far it is, and how long the rest takes."""

    title: str
    done: int
    planned: int
    note: str


def list_stages(index: RecordIndex, run: Summary) -> list[RunStage]:
    """Stages of a run: the run itself, then its baselines, those that have not begun included."""
    begun = list_begun_arms(index)
    names = list(dict.fromkeys([RUN, *run.plan.get("baselines", []), *begun]))
    return [_stage(index, run, name) for name in names]


def _stage(index: RecordIndex, run: Summary, name: str) -> RunStage:
    arm, curves = run.arm(name), index.arms.get(name)
    title = phrasing.name_arm(name)
    rounds = int((run.plan.get("server") or {}).get("rounds") or 0)
    if arm is None:
        return RunStage(title=title, done=0, planned=max(1, rounds), note="not begun")
    if arm.finished:
        took = phrasing.format_duration(arm.seconds)
        return RunStage(title=title, done=1, planned=1, note=f"finished in {took}")
    left = curves.seconds_left if curves else None
    parts = [f"{arm.rounds:,} of {arm.planned:,} rounds"]
    if run.running and left is not None:
        parts.append(f"about {phrasing.format_duration(left)} left")
    return RunStage(
        title=title, done=arm.rounds, planned=max(1, arm.planned), note=", ".join(parts)
    )


def describe_budget(index: RecordIndex, *, finished: bool) -> str:
    """Epsilon spent against the budget, in one sentence; empty if no number is known."""
    whole = prose.find_run_total(index.spent.last)
    budget = find_budget(index.plan)
    if whole is None or whole.epsilon is None:
        return ""
    spent = f"Epsilon {prose.format_bound(whole.epsilon)} per run spent" + (
        "" if finished else " so far"
    )
    delta = f", at delta {whole.delta:g}" if whole.delta else ""
    return f"{spent}{delta}" + (
        f", of a budget of {prose.format_bound(budget)}." if budget else "."
    )


def render_parts(catalogue: RunCatalogue, name: str) -> tuple[dict[str, str], Charts]:
    """Everything on the page that changes: parts as HTML, and charts."""
    with reading(name):
        return _render_parts(catalogue, name)


def _render_parts(catalogue: RunCatalogue, name: str) -> tuple[dict[str, str], Charts]:
    index = catalogue.index(name)
    run = catalogue.summary(name, in_words=True)
    values: dict[str, Any] = {
        "run": run,
        "index": index,
        "stages": list_stages(index, run),
        "stop_command": describe_stop(read_worker(catalogue.root, name)),
        "resume_command": show_command(resume_run(catalogue.root / name)),
        "cards": build_cards(run),
        "verdict": judge_run(run) if run.finished else [],
        "levels": LEVELS,
        "budget": describe_budget(index, finished=run.finished),
        "cohort": describe_cohort(index),
        "refused": index.refused.most_common(12),
        "absences": run.absences.sentences[-12:],
        "headings": HEADINGS,
        "rows": [(arm, list_cells(arm)) for arm in run.arms],
        "audits": [(audit, build_grids(audit)) for audit in select_latest(run.audits)],
    }
    parts = {f"part-{part}": render_part(f"run_{part}.html", **values) for part in PARTS}
    return parts, build_live_charts(index, run)


def list_run_facts(catalogue: RunCatalogue, name: str) -> list[tuple[str, str]]:
    """Facts about data and method."""
    with reading(name):
        return list_facts(catalogue.summary(name))


def follow_run(catalogue: RunCatalogue, name: str) -> Callable[[], Change | None]:
    """Read the changes of a run for its page: only parts and charts that differ from the last."""
    shown: dict[str, Any] = {}
    version: list[Any] = [None]

    def read() -> Change | None:
        now = catalogue.version(name)
        if now == version[0]:
            return None
        version[0] = now
        parts, charts = render_parts(catalogue, name)
        changed = {key: html for key, html in parts.items() if shown.get(key) != html}
        drawn = {key: one for key, one in charts.items() if shown.get(f"chart {key}") != one}
        shown.update(parts)
        shown.update({f"chart {key}": one for key, one in charts.items()})
        return {"parts": changed, "charts": drawn} if changed or drawn else None

    return read
