"""Figures of a run from its index, in the form that the report's charts and cards take."""

from __future__ import annotations

from typing import Any

from tacit.privacy.claim import Total
from tacit.privacy.statement import prose
from tacit.report.figures import ArmFigures, Summary, find_regime
from tacit.report.missing.sites import summarise_absences
from tacit.report.privacy import PrivacyFigures, StatedTotal
from tacit.report.votes import summarise_votes
from tacit.runs.record import (
    RUN,
    ByClass,
    Corrupted,
    DisclosedRows,
    Spread,
    Started,
    WarmStarted,
)
from tacit.ui.records.index import RecordIndex


def summarise_index(
    index: RecordIndex, running: bool, privacy: PrivacyFigures | None = None
) -> Summary:
    """Figures of a run as far as its record goes.

    Without `privacy`, totals are those that the run recorded after its last round.
    """
    plan = index.plan
    totals = index.spent.last
    started, corrupted = index.single.get("started"), index.single.get("corrupted")
    shared, warm = index.single.get("disclosed_rows"), index.single.get("warm_started")
    votes, found = index.voted.last, corrupted if isinstance(corrupted, Corrupted) else None
    return Summary(
        name=index.run,
        arms=[_build_arm(index, name, plan, totals) for name in list_begun_arms(index)],
        privacy=privacy or state_recorded(totals),
        data=index.prepared,
        plan=plan,
        versions=started.versions if isinstance(started, Started) else {},
        shared=shared if isinstance(shared, DisclosedRows) else None,
        warm=warm if isinstance(warm, WarmStarted) else None,
        corrupted=found,
        votes=summarise_votes([votes.entry], found) if votes else None,
        refused=sum(index.refused.values()),
        absences=summarise_absences(list(index.recent_absences)),
        audits=tuple(index.audits.values()),
        running=running,
        abandoned=index.is_abandoned,
        model_sha256=next(
            (
                one.sha256["model.safetensors"]
                for one in reversed(index.stored)
                if "model.safetensors" in one.sha256
            ),
            "",
        ),
    )


def list_begun_arms(index: RecordIndex) -> list[str]:
    """Arms with a finished round or an end, the run first, in the order of the plan."""
    begun = dict.fromkeys([*index.arms, *(arm for kind, arm in index.by_arm if kind == "finished")])
    order = [RUN, *index.plan.get("baselines", [])]
    return [name for name in dict.fromkeys([*order, *begun]) if name in begun]


def find_budget(plan: dict[str, Any]) -> float | None:
    """Epsilon per run that the plan promises or that clients enforce; None if there is none."""
    limits = [
        (plan.get("ledger") or {}).get("epsilon"),
        (plan.get("privacy") or {}).get("epsilon"),
        (plan.get("codec") or {}).get("epsilon") if _is_per_run(plan) else None,
    ]
    known = [float(one) for one in limits if isinstance(one, int | float) and one > 0]
    return min(known) if known else None


def _is_per_run(plan: dict[str, Any]) -> bool:
    return (plan.get("codec") or {}).get("name") == "dp_sum"


def _build_arm(
    index: RecordIndex, name: str, plan: dict[str, Any], totals: tuple[Total, ...]
) -> ArmFigures:
    curves, end = index.arms.get(name), index.finished(name)
    last = curves.last if curves else None
    course = curves.course() if curves and not index.brief else []
    measured = curves.evaluated.last.metrics if curves and curves.evaluated.last else {}
    spread, classes = index.by_arm.get(("spread", name)), index.by_arm.get(("by_class", name))
    clients = curves.clients if curves else 0
    regime = {RUN: find_regime(plan), "same_features": "central"}.get(name, name)
    return ArmFigures(
        name=name,
        rounds=end.rounds if end else last.round_no if last else 0,
        planned=last.rounds if last else end.rounds if end else 0,
        metrics=end.metrics if end else measured,
        bytes_up=end.bytes_up
        if end
        else round(curves.bytes_up / clients)
        if curves and clients
        else None,
        bytes_down=end.bytes_down
        if end
        else round(curves.bytes_down / clients)
        if curves and clients
        else None,
        seconds=end.seconds if end else curves.seconds if curves else 0.0,
        finished=end is not None,
        stopped_early=end is not None and end.stopped_early,
        parameters_sha256=end.parameters_sha256 if end else "",
        privacy=prose.write_headline(totals, regime) if name == RUN and totals else "–",
        course=course,
        spread=spread.accuracy if isinstance(spread, Spread) else [],
        by_class=classes if isinstance(classes, ByClass) else None,
    )


def state_recorded(totals: tuple[Total, ...]) -> PrivacyFigures:
    """The totals as the run recorded them, without a statement in words."""
    stated = [
        StatedTotal(total=total, text=prose.format_total(total), composition=total.basis)
        for total in totals
    ]
    return PrivacyFigures(
        statement="",
        owners="",
        meaning=None,
        totals=stated,
        mechanisms=[],
        relations=[],
        views=[],
        trust=[],
        sources=[],
        unprotected=[],
    )
