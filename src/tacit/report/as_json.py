"""A run as one JSON object, the same for every command and page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tacit.report.audits import select_latest
from tacit.report.classes import measure_classes
from tacit.report.figures import ArmFigures, Summary
from tacit.report.verdict import judge_run
from tacit.report.votes import VoteFigures


def run_to_json(run: Summary, folder: Path) -> dict[str, Any]:
    """Convert a run: its own figures at the top, baselines by name, and the paths of its files."""
    own = run.arm("run")
    page = folder / "report.html"
    return {
        "run": run.name,
        "state": run.state,
        "model_sha256": run.model_sha256,
        "parameters_sha256": own.parameters_sha256 if own else "",
        "rounds": own.rounds if own else 0,
        "metrics": dict(own.metrics) if own else {},
        "verdict": [asdict(one) for one in judge_run(run)],
        "classes": measure_classes(run),
        "bytes": _bytes(own),
        "privacy": {
            **_owners(run),
            "statement": run.privacy.statement,
            **_meaning(run),
            "totals": [asdict(one.total) for one in run.privacy.totals],
        },
        "seconds": own.seconds if own else 0.0,
        **(
            {"audits": {one.name: one.findings for one in select_latest(run.audits)}}
            if run.audits
            else {}
        ),
        **({"corrupted": asdict(run.corrupted)} if run.corrupted else {}),
        **({"votes": _votes(run.votes)} if run.votes else {}),
        **({"answers": list(run.answers)} if run.answers else {}),
        **run.absences.to_json(),
        **({"network": run.network.to_json()} if run.network else {}),
        **_unread_rows(run),
        "baselines": {arm.name: _baseline(arm) for arm in run.arms if arm.name != "run"},
        "report": str(page) if page.exists() else None,
        "folder": str(folder),
    }


def privacy_to_json(run: Summary) -> dict[str, Any]:
    """Convert a run's privacy guarantee with everything that it rests on."""
    stated = run.privacy
    return {
        "run": run.name,
        **_owners(run),
        "statement": stated.statement,
        **_meaning(run),
        "totals": [{**asdict(one.total), "composed_of": one.composition} for one in stated.totals],
        "relation": stated.relations,
        "mechanism": stated.mechanisms,
        "seen_by": stated.views,
        "trust": stated.trust,
        "source": stated.sources,
        "not_protected": stated.unprotected,
        **{one.name: one.findings for one in select_latest(run.audits) if one.name == "canaries"},
    }


def _owners(run: Summary) -> dict[str, Any]:
    """Whether owners were simulated, and whom the guarantee then protects."""
    return {"owners": {"made_up": bool(run.privacy.owners), "sentence": run.privacy.owners}}


def _unread_rows(run: Summary) -> dict[str, Any]:
    """Training rows whose text has no word that the model reads, if there are any."""
    return {"rows_without_words": run.data.wordless} if run.data and run.data.wordless else {}


def _meaning(run: Summary) -> dict[str, Any]:
    return {"meaning": asdict(run.privacy.meaning)} if run.privacy.meaning else {}


def _baseline(arm: ArmFigures) -> dict[str, Any]:
    return {
        "rounds": arm.rounds,
        "metrics": dict(arm.metrics),
        "bytes": _bytes(arm),
        "privacy": arm.privacy,
        "seconds": arm.seconds,
        "parameters_sha256": arm.parameters_sha256,
    }


def _votes(votes: VoteFigures) -> dict[str, Any]:
    """Score of every client, lowest first; a client without votes has none."""
    return {
        "rounds": votes.rounds,
        "threshold": votes.threshold,
        "rejected": sorted(votes.rejected),
        **({"found": asdict(votes.found)} if votes.found else {}),
        "clients": [
            {
                "client": one.client,
                "score": one.score if one.known else None,
                "error": one.error if one.known else None,
                "rounds": one.rounds,
                "rejected_in": list(one.rejected_in),
            }
            for one in votes.scores
        ],
    }


def _bytes(arm: ArmFigures | None) -> dict[str, int | None]:
    return {"up": arm.bytes_up if arm else None, "down": arm.bytes_down if arm else None}
