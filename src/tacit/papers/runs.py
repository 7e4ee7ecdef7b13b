"""Carrying out one run and keeping its figures: each once, by what it is made of; a stopped plan is taken up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tacit import engine, record
from tacit import plan as plans
from tacit.engine.run_folder import RECORD
from tacit.papers.published import PLAN, Figures, Run, Runner


def kept(run: Run, cache: Path) -> Figures | None:
    """Return the figures of a run that was carried out before; None if there are none."""
    try:
        stored: dict[str, Any] = json.loads((cache / f"{run.key}.json").read_text())
    except (OSError, ValueError):
        return None
    figures: Figures = stored["figures"]
    return figures


def carry_out(run: Run, cache: Path, runners: Mapping[str, Runner], observer: engine.Observer | None) -> Figures:
    """Return the figures of a run, which are in the cache before this returns."""
    cache.mkdir(parents=True, exist_ok=True)
    figures = _run_plan(run, cache, observer) if run.kind == PLAN else runners[run.kind](**run.settings)
    path = cache / f"{run.key}.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"kind": run.kind, "settings": run.settings, "figures": figures}, indent=1))
    fresh.replace(path)
    shutil.rmtree(cache / run.key, ignore_errors=True)
    return figures


def _run_plan(run: Run, cache: Path, observer: engine.Observer | None) -> Figures:
    """Run or take up a plan in a folder of the cache, which is there until its figures are kept."""
    root = cache / run.key
    begun = sorted(root.glob("*-1")) if root.exists() else []
    folder = engine.resume(begun[0], observer) if begun else engine.start(plans.parse(run.settings), root, observer)
    return figures_of(list(record.read(folder / RECORD)))


def figures_of(entries: list[Any]) -> Figures:
    """Return the figures of a finished run from its record.

    The last ones are those at its end, the bytes a client sent in the last round, the share of all clients' own rows that the
    final model gets right (`train_accuracy`; not where parts of the model stay with clients), and that of each class's test
    rows (`recall_0`, `recall_1`, …; of classes that have any). Where clients voted on corrupted ones, `filter_accuracy`,
    `filter_precision` and `filter_recall` say how well they found them.
    """
    rounds, end = record.of_kind(entries, record.Round, record.RUN), record.of_kind(entries, record.Finished, record.RUN)[-1]
    figures = {str(entry.round_no): entry.metrics for entry in rounds if entry.metrics}
    figures["last"] = {**end.metrics, "bytes_up": rounds[-1].bytes_up / max(1, rounds[-1].cohort)}
    by_client = record.of_kind(entries, record.Spread, record.RUN)
    if by_client and not record.of_kind(entries, record.ClientsEvaluated, record.RUN):
        rows = record.of_kind(entries, record.Prepared)[0].rows_per_client
        figures["last"]["train_accuracy"] = float(np.average(by_client[0].accuracy, weights=rows))
    for one in record.of_kind(entries, record.ByClass, record.RUN)[-1:]:
        classes = enumerate(zip(one.right, one.rows, strict=True))
        figures["last"] |= {f"recall_{number}": right / rows for number, (right, rows) in classes if rows}
    for round_no, found in _found(entries).items():
        figures.setdefault(str(round_no), {}).update(found)
        figures["last"] |= found
    return figures


def _found(entries: list[Any]) -> dict[int, dict[str, float]]:
    """Return how well votes told corrupted clients from others, round by round; nothing where nobody voted or was corrupted.

    Precision is 1 where nobody is rejected, for then nobody is accused.
    """
    corrupted = record.of_kind(entries, record.Corrupted)
    voted = record.of_kind(entries, record.Voted, record.RUN)
    return {entry.round_no: _told(entry, set(corrupted[0].clients)) for entry in voted} if corrupted else {}


def _told(voted: record.Voted, bad: set[int]) -> dict[str, float]:
    there, rejected = set(voted.clients), set(voted.rejected)
    right, wrong = len(rejected & bad), len(rejected - bad)
    missed = len(there & bad) - right
    return {
        "filter_accuracy": 1 - (wrong + missed) / max(1, len(there)),
        "filter_precision": right / len(rejected) if rejected else 1.0,
        "filter_recall": right / max(1, right + missed),
    }
