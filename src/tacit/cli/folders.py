"""Find runs and files of sites, and summarise runs, for commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.runs.named_runs import find_last_change, find_model_folder, list_run_folders, locate_run

if TYPE_CHECKING:
    from tacit.report import Summary

__all__ = [
    "figures",
    "find_in_site",
    "find_last_change",
    "find_model_folder",
    "format_result",
    "list_run_folders",
    "locate_run",
    "summarise_listed_run",
]


def find_in_site(path: Path, name: str) -> Path:
    """The file `name` of a site, given the file itself or the site's folder."""
    return path / name if path.is_dir() else path


def figures(folder: Path) -> Summary:
    """Summarise the run in a folder; without figures if it was killed before its first entry."""
    from tacit import report
    from tacit.runs.run_folder import entries, is_running

    return report.summarise(entries(folder), name=folder.resolve().name, running=is_running(folder))


def summarise_listed_run(folder: Path) -> Summary:
    """Summarise a run for a list of runs: its state, result and privacy.

    The last entry of a finished run contains its final figures, so this reads neither its rounds
    nor those of its baselines.
    """
    from tacit import report
    from tacit.runs.record import RUN
    from tacit.runs.run_folder import entries

    def wanted(kind: str, arm: str) -> bool:
        return kind in ("started", "prepared", "finished", "abandoned") or (
            kind == "released" and arm == RUN
        )

    found = report.summarise(entries(folder, wanted), name=folder.resolve().name)
    return found if found.finished else figures(folder)


def format_result(run: Summary) -> str:
    """The leading metric of a run in words, for a list of runs."""
    from tacit.report import phrasing

    own = run.arm("run")
    if own is None or run.leading not in own.metrics:
        return phrasing.NONE
    figure = phrasing.format_metric(run.leading, own.metrics[run.leading])
    return f"{phrasing.METRICS[run.leading]} {figure}"
