"""What lies in a run's folder, as commands show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.engine.named_runs import all_runs, changed, folder_of, model_folder

if TYPE_CHECKING:
    from tacit.report import Summary

__all__ = ["all_runs", "changed", "figures", "folder_of", "model_folder"]


def figures(folder: Path) -> Summary:
    """Return the figures of the run in a folder, none yet if it was killed before its first entry."""
    from tacit import report
    from tacit.engine.run_folder import entries, is_running

    return report.summary(entries(folder), name=folder.resolve().name, running=is_running(folder))
