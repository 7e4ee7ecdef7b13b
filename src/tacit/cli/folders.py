"""Which folder a run's name means, and what lies in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import RunError, did_you_mean

if TYPE_CHECKING:
    from tacit.report import Summary

RECORD = "record.jsonl"


def all_runs(runs: Path) -> list[Path]:
    """Return the folders below `runs` that hold a record, oldest first."""
    found = [path.parent for path in runs.glob(f"*/{RECORD}")] if runs.is_dir() else []
    return sorted(found, key=lambda folder: ((folder / RECORD).stat().st_mtime, folder.name))


def folder_of(run: str, runs: Path) -> Path:
    """Return the folder of a run given by path or by name; raise RunError with the closest names there are."""
    for folder in (Path(run), runs / run):
        if (folder / RECORD).is_file():
            return folder
    known = [folder.name for folder in all_runs(runs)]
    if not known:
        raise RunError(f"run {run!r}: there is no run in {runs}; `tacit run PLAN` makes one, --runs DIR looks elsewhere")
    listed = ", ".join(known[-12:]) + (f" and {len(known) - 12} older" if len(known) > 12 else "")
    raise RunError(f"run {run!r}: not found in {runs}, which holds {listed}.{did_you_mean(run, known)}")


def figures(folder: Path) -> Summary:
    """Return the figures of the run in a folder."""
    from tacit import record, report

    return report.summary(record.read(folder / RECORD), name=folder.resolve().name)
