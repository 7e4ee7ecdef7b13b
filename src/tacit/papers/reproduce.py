"""Running a paper's trials: each once, cached by what it is made of, resumable after any stop."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tacit import engine, record
from tacit import plan as plans
from tacit.engine.run_folder import RECORD
from tacit.papers import experiments, partfed_runs
from tacit.papers.message_bytes import message_bytes
from tacit.papers.published import Outcome, Table, Trial

Figures = dict[str, dict[str, float]]
"""Round (as text; "last" for the last) → metric → value."""


class Progress(Protocol):
    """Hears how far a reproduction has come."""

    def __call__(self, done: int, total: int, trial: Trial | None) -> None:
        """`done` of `total` trials are there; `trial` is next."""


def reproduce(
    tables: tuple[Table, ...], cache: Path, progress: Progress, watch: engine.Watch | None = None, run: bool = True
) -> list[Outcome]:
    """Return every cell with our figure; trials not in the cache are run (or left out if `run` is false)."""
    trials = {cell.trial.key: cell.trial for table in tables for cell in table.cells}
    results: dict[str, Figures | None] = {}
    for number, (key, trial) in enumerate(trials.items()):
        progress(number, len(trials), trial)
        results[key] = _cached(cache / f"{key}.json") or (_run(trial, cache, watch) if run else None)
    progress(len(trials), len(trials), None)
    return [
        Outcome(table=table.name, cell=cell, ours=_pick(results[cell.trial.key], cell.metric, cell.round_no))
        for table in tables
        for cell in table.cells
    ]


def _pick(figures: Figures | None, metric: str, round_no: int | None) -> float | None:
    if figures is None:
        return None
    return figures.get("last" if round_no is None else str(round_no), {}).get(metric)


def _cached(path: Path) -> Figures | None:
    try:
        stored: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    figures: Figures = stored["figures"]
    return figures


def _run(trial: Trial, cache: Path, watch: engine.Watch | None) -> Figures:
    cache.mkdir(parents=True, exist_ok=True)
    figures = _run_plan(trial, cache, watch) if trial.kind == "plan" else _EXPERIMENTS[trial.kind](**trial.settings)
    path = cache / f"{trial.key}.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"kind": trial.kind, "settings": trial.settings, "figures": figures}, indent=1))
    fresh.replace(path)
    return figures


def _run_plan(trial: Trial, cache: Path, watch: engine.Watch | None) -> Figures:
    """Run or take up a plan in a folder of the cache; the folder goes once its figures are kept."""
    root = cache / trial.key
    begun = sorted(root.glob("*-1")) if root.exists() else []
    job = plans.parse(trial.settings)
    folder = engine.resume(begun[0], watch) if begun else engine.start(job, root, watch)
    entries = list(record.read(folder / RECORD))
    rounds, end = record.of_kind(entries, record.Round, record.RUN), record.of_kind(entries, record.Finished, record.RUN)[-1]
    figures = {str(entry.round_no): entry.metrics for entry in rounds if entry.metrics}
    figures["last"] = {**end.metrics, "bytes_up": rounds[-1].bytes_up / max(1, rounds[-1].cohort)}
    shutil.rmtree(root)
    return figures


_EXPERIMENTS: dict[str, Callable[..., Figures]] = {
    "term_frequency": experiments.term_frequency,
    "word2vec": experiments.word2vec,
    "averaged_vectors": experiments.averaged_vectors,
    "central": experiments.central,
    "message_bytes": message_bytes,
    "partfed_table_facts": partfed_runs.table_facts,
    "partfed_sharing": partfed_runs.sharing,
    "partfed_over_seeds": partfed_runs.over_seeds,
    "partfed_components": partfed_runs.components,
    "partfed_times": partfed_runs.times,
}
