"""What a run writes at its beginning and end, alike for a simulation and a run between sites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit import features, training
from tacit.plan import Columns, Plan
from tacit.protocol.loop import Desk
from tacit.protocol.observer import Observer
from tacit.rows import Vector
from tacit.runs import record, run_folder
from tacit.runs.facts import build_feature_release, build_started, collect_model_facts
from tacit.runs.fingerprint import Fingerprints
from tacit.runs.recovery import RecoveredRun
from tacit.runs.run_keys import read_record_key


@contextmanager
def open_desk(
    folder: Path, found: RecoveredRun, fingerprints: Fingerprints, observer: Observer
) -> Iterator[Desk]:
    """Open a run's record at its end, and record that the run is resumed, if it is."""
    writer = record.Writer(folder / run_folder.RECORD, found.end, read_record_key(folder))
    desk = Desk(
        folder=folder,
        writer=writer,
        observer=observer,
        fingerprints=fingerprints,
        superseded=found.superseded,
    )
    try:
        desk.note(*([found.entry] if found.entry else []))
        yield desk
    finally:
        writer.close()


def write_beginning(
    desk: Desk,
    plan: Plan,
    learner: training.Learner,
    prepared: record.Prepared,
    cleartext: Iterable[str],
    *,
    is_started: bool = False,
) -> None:
    """Record the start of the run, unless it is; `cleartext` lists what was read from rows before
    round one.
    """
    if not is_started:
        desk.note(build_started(plan, learner, desk.fingerprints, desk.writer.key))
    desk.note(prepared)
    desk.note(*(build_feature_release(sentence, prepared.clients) for sentence in cleartext))


@dataclass(frozen=True, kw_only=True)
class StoredFeatures:
    """What a stored model needs to read new rows: input width, columns, fitted values, formats."""

    inputs: int
    columns: Columns
    fitted: features.Fitted
    formats: dict[str, Any]


def store_model(
    desk: Desk, plan: Plan, learner: training.Learner, model: Vector, stored: StoredFeatures
) -> None:
    """Store the released model with the facts that `predict` needs, and record the hashes."""
    facts = collect_model_facts(plan, stored.inputs, stored.columns, stored.fitted, stored.formats)
    desk.note(run_folder.write_model(desk.folder, learner, model, facts))
