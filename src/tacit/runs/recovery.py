"""Resume a run from its checkpoint and record, for simulations and deployments alike.

Only an incomplete last line is ever removed from a record. A resume appends an entry that names its
checkpoint; entries after that checkpoint are superseded, but their charges still count
(`runs/record/fold.py`).
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
    """A stopped run: its last checkpoint (None before the first model) and the end of its record.

    `entry` is to be appended to the record when the run resumes; None if the record is empty.
    `superseded` are releases that the checkpoint does not cover; they count until the run repeats
    them. An abandoned run cannot be resumed.
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
    """Recover the stopped run in a folder; `arms` are the arms of the current plan.

    Raises RunError if a file is damaged or missing, or if the plan has changed since the run began;
    the record is then left unchanged.
    """
    path = folder / run_folder.RECORD
    if not (folder / checkpoint.NAME).exists():
        return _recover_without_checkpoint(folder, path)
    last = checkpoint.read(folder)
    if last.fingerprints.plan != fingerprint_plan(plan):
        raise RunError(
            f"{folder / run_folder.PLAN}: was changed since the run began, so its privacy guarantee"
            " would no longer hold; restore the old settings, or start the new plan as a new run"
        )
    record.verify(path, last.mark)
    if last.progress.arm == checkpoint.ALL_DONE:
        return RecoveredRun(last=last, end=last.mark)
    if last.progress.arm not in arms:
        raise RunError(
            f"{folder / run_folder.PLAN}: must contain the baseline {last.progress.arm!r}, in"
            " which the run was stopped"
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


def _recover_without_checkpoint(folder: Path, path: Path) -> RecoveredRun:
    """Recover a run that was stopped before its first model; refuse one with charged rounds."""
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
            f"{folder / checkpoint.NAME}: is missing, although rounds were recorded; restore it"
            " from a copy, or start the plan as a new run; the record is unchanged"
        )
    end = record.repair_end(path)
    if not end.length:
        return RecoveredRun()
    entry = Resumed(arm=RUN, round_no=0, length=0)
    return RecoveredRun(end=end, entry=entry, superseded=record.find_superseded(lines, entry))


def _is_abandoned(lines: list[tuple[int, record.Entry]]) -> bool:
    return any(isinstance(entry, record.Abandoned) for _, entry in lines)


def build_abandoned_error(folder: Path) -> RunError:
    """Error for a run that was abandoned."""
    return RunError(
        f"{folder}: was abandoned, and its keys are deleted; start the plan as a new run"
    )


def abandon(folder: Path) -> list[str]:
    """Abandon a run: note it in the record, delete its keys, and return the names of deleted files.

    Raises RunError if the run has finished, or is running. Keys are deleted even if writing the
    record fails.
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
