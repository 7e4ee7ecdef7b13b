"""Carry out single runs and cache their results by what determines them; interrupted plans are
resumed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tacit import plan as plans
from tacit import simulation
from tacit.privacy import ledger
from tacit.runs import record
from tacit.runs.fingerprint import fingerprint_plan
from tacit.runs.run_folder import RECORD, read_plan
from tacit_papers.published import PLAN, Figures, Runner, TrialRun

_DELTA = 1e-5


def read_cached(run: TrialRun, cache: Path) -> Figures | None:
    """Read the metrics of an earlier run; None if there are none."""
    try:
        stored: dict[str, Any] = json.loads((cache / f"{run.key}.json").read_text())
    except (OSError, ValueError):
        return None
    figures: Figures = stored["figures"]
    return figures


def carry_out(
    run: TrialRun, cache: Path, runners: Mapping[str, Runner], observer: simulation.Observer | None
) -> Figures:
    """Carry out a run; its metrics are in the cache before this returns."""
    cache.mkdir(parents=True, exist_ok=True)
    figures = (
        _run_plan(run, cache, observer) if run.kind == PLAN else runners[run.kind](**run.settings)
    )
    path = cache / f"{run.key}.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(
        json.dumps({"kind": run.kind, "settings": run.settings, "figures": figures}, indent=1)
    )
    fresh.replace(path)
    shutil.rmtree(cache / run.key, ignore_errors=True)
    return figures


def _run_plan(run: TrialRun, cache: Path, observer: simulation.Observer | None) -> Figures:
    """Run or resume a plan in a folder of the cache, which exists until its metrics are cached.

    A stopped run is resumed only if its folder has this very plan: then the plan that the paper
    names is permission for the code of its data set or codec. If that code has changed since, the
    run starts anew.
    """
    root = cache / run.key
    plan = plans.pin_own_parts(plans.parse(run.settings))
    begun = next(iter(sorted(root.glob("*-1"))), None)
    if begun and fingerprint_plan(read_plan(begun)) == fingerprint_plan(plan):
        folder = simulation.resume(begun, observer, allow_code=True)
    else:
        shutil.rmtree(root, ignore_errors=True)
        folder = simulation.start(plan, root, observer)
    return collect_figures(list(record.read(folder / RECORD)))


def collect_figures(entries: list[Any]) -> Figures:
    """Collect the metrics of a finished run from its record.

    `last` has the metrics at the end, the bytes a client sent in the last round, the accuracy of
    the final model on all clients' own rows (`train_accuracy`; not if parts of the model stay with
    clients), and the recall of each class with test rows (`recall_0`, `recall_1`, …). If clients
    voted on corrupted ones, `filter_accuracy`, `filter_precision` and `filter_recall` say how well
    they found them, `filter_least_precision` and `filter_least_recall` in the worst round, and
    `votes_epsilon` is a tester's privacy loss in the whole run at delta 1e-5.
    """
    rounds, end = (
        record.select_entries(entries, record.Round, record.RUN),
        record.select_entries(entries, record.Finished, record.RUN)[-1],
    )
    figures = {str(entry.round_no): entry.metrics for entry in rounds if entry.metrics}
    figures["last"] = {**end.metrics, "bytes_up": rounds[-1].bytes_up / max(1, rounds[-1].cohort)}
    by_client = record.select_entries(entries, record.Spread, record.RUN)
    if by_client and not record.select_entries(entries, record.ClientsEvaluated, record.RUN):
        rows = record.select_entries(entries, record.Prepared)[0].rows_per_client
        figures["last"]["train_accuracy"] = float(np.average(by_client[0].accuracy, weights=rows))
    for one in record.select_entries(entries, record.ByClass, record.RUN)[-1:]:
        classes = enumerate(zip(one.right, one.rows, strict=True))
        figures["last"] |= {
            f"recall_{number}": right / rows for number, (right, rows) in classes if rows
        }
    by_round = _measure_filter(entries)
    for round_no, found in by_round.items():
        figures.setdefault(str(round_no), {}).update(found)
        figures["last"] |= found
    for name in ("precision", "recall") if by_round else ():
        least = min(found[f"filter_{name}"] for found in by_round.values())
        figures["last"][f"filter_least_{name}"] = least
    return {**figures, "last": {**figures["last"], **_measure_votes(entries)}}


def _measure_votes(entries: list[Any]) -> dict[str, float]:
    """A tester's privacy loss in the run; empty if nobody voted or votes have no noise."""
    released = [
        one for one in record.select_entries(entries, record.Released) if one.exchange == "votes"
    ]
    totals = ledger.compute_totals(ledger.fold_releases(released), _DELTA)
    epsilon = totals[-1].epsilon if totals else None
    return {} if epsilon is None else {"votes_epsilon": epsilon}


def _measure_filter(entries: list[Any]) -> dict[int, dict[str, float]]:
    """How well votes separate corrupted clients from others, round by round; empty if nobody voted
    or was corrupted.

    Precision is 1 if nobody is rejected.
    """
    corrupted = record.select_entries(entries, record.Corrupted)
    voted = record.select_entries(entries, record.Voted, record.RUN)
    return (
        {entry.round_no: _score_votes(entry, set(corrupted[0].clients)) for entry in voted}
        if corrupted
        else {}
    )


def _score_votes(voted: record.Voted, bad: set[int]) -> dict[str, float]:
    there, rejected = set(voted.clients), set(voted.rejected)
    right, wrong = len(rejected & bad), len(rejected - bad)
    missed = len(there & bad) - right
    return {
        "filter_accuracy": 1 - (wrong + missed) / max(1, len(there)),
        "filter_precision": right / len(rejected) if rejected else 1.0,
        "filter_recall": right / max(1, right + missed),
    }
