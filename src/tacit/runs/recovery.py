"""Taking a run up again, alike for a simulation and for a run between sites: its checkpoint, and
the record behind it.

Nothing is removed from a record but a last line that was never complete. A resume appends from
which checkpoint it goes on; what was written after that checkpoint is superseded, and its charges
count all the same (`runs/record/fold.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tacit.errors import RunError
from tacit.plan import Plan
from tacit.runs import checkpoint, record, run_folder
from tacit.runs.checkpoint import Checkpoint
from tacit.runs.fingerprint import fingerprint_plan
from tacit.runs.record import RUN, Mark, Released, Resumed
from tacit.runs.run_keys import delete_keys, read_record_key


@dataclass(frozen=True, kw_only=True)
class RecoveredRun:
    """What is left of a run: its last checkpoint (None: no model was ever made), and where its
    record ends.

    `entry` says from where the run goes on, for the record; there is none before the first entry.
    `superseded` are releases which the checkpoint does not cover; they count until the run repeats
    them. A run that was abandoned cannot go on.
    """

    last: Checkpoint | None = None
    end: Mark = field(default_factory=Mark)
    entry: Resumed | None = None
    superseded: list[Released] = field(default_factory=list)
    is_abandoned: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to run."""
        return self.last is not None and self.last.progress.arm == checkpoint.ALL_DONE


def recover(folder: Path, plan: Plan, arms: Iterable[str]) -> RecoveredRun:
    """Return what is left of a run in a folder; `arms` are those the plan has now.

    Raises RunError if a file is damaged or missing, or if the plan is not the one the run began
    with; the record is then left as it was.
    """
    path = folder / run_folder.RECORD
    if not (folder / checkpoint.NAME).exists():
        return _without_checkpoint(folder, path)
    last = checkpoint.read(folder)
    if last.fingerprints.plan != fingerprint_plan(plan):
        raise RunError(
            f"{folder / run_folder.PLAN}: was changed since the run began, and what it promised"
            " would no longer be true; put the old settings back, or start the new plan as a run"
            " of its own"
        )
    record.verify(path, last.mark)
    if last.progress.arm == checkpoint.ALL_DONE:
        return RecoveredRun(last=last, end=last.mark)
    if last.progress.arm not in arms:
        raise RunError(
            f"{folder / run_folder.PLAN}: needs the baseline {last.progress.arm!r}; the run was"
            " stopped in it"
        )
    lines = list(record.read_lines(path))
    if _is_abandoned(lines):
        return RecoveredRun(last=last, is_abandoned=True)
    progress = last.progress
    entry = Resumed(
        arm=progress.arm,
        round_no=progress.round_no,
        length=last.mark.length,
        checksum=last.mark.checksum,
    )
    end = record.repair_end(path)
    return RecoveredRun(
        last=last, end=end, entry=entry, superseded=record.find_superseded(lines, entry)
    )


def _without_checkpoint(folder: Path, path: Path) -> RecoveredRun:
    """Return a run that was stopped before its first model; refuse one whose rounds were
    charged.
    """
    if not path.exists():
        return RecoveredRun()
    lines = list(record.read_lines(path))
    if _is_abandoned(lines):
        return RecoveredRun(is_abandoned=True)
    if any(
        isinstance(entry, record.Round) or (isinstance(entry, Released) and entry.round_no)
        for _, entry in lines
    ):
        raise RunError(
            f"{folder / checkpoint.NAME}: is missing, though rounds were recorded; put it back from"
            " a copy, or start the plan anew; the record stays as it is"
        )
    end = record.repair_end(path)
    if not end.length:
        return RecoveredRun()
    entry = Resumed(arm=RUN, round_no=0, length=0)
    return RecoveredRun(end=end, entry=entry, superseded=record.find_superseded(lines, entry))


def _is_abandoned(lines: list[tuple[int, record.Entry]]) -> bool:
    return any(isinstance(entry, record.Abandoned) for _, entry in lines)


def build_abandoned_error(folder: Path) -> RunError:
    """Return the error for a run that was given up."""
    return RunError(
        f"{folder}: was abandoned, and its keys are deleted; start the plan as a new run"
    )


def abandon(folder: Path) -> list[str]:
    """Give a run up: say so in its record, and delete its keys. Return the names of the files that
    were deleted.

    Raises RunError if the run has finished, or is being run. Keys are deleted also where the record
    cannot be added to.
    """
    run_folder.refuse_links(folder)
    run_folder.read_plan(folder)
    with run_folder.lock(folder):
        last = checkpoint.read(folder) if (folder / checkpoint.NAME).exists() else None
        if last and last.progress.arm == checkpoint.ALL_DONE:
            delete_keys(folder)
            raise RunError(
                f"{folder}: has finished, and its keys are deleted; there is nothing to abandon"
            )
        try:
            _note_abandoned(folder, last)
        finally:
            gone = delete_keys(folder)
    return gone


def _note_abandoned(folder: Path, last: Checkpoint | None) -> None:
    path = folder / run_folder.RECORD
    if path.exists() and _is_abandoned(list(record.read_lines(path))):
        return
    progress = last.progress if last else checkpoint.Progress(arm=RUN, round_no=0)
    writer = record.Writer(
        path, record.repair_end(path) if path.exists() else None, read_record_key(folder)
    )
    try:
        writer.append(record.Abandoned(arm=progress.arm, round_no=progress.round_no))
        writer.sign()
        writer.sync()
    finally:
        writer.close()
