"""Which folder a run's name means."""

from __future__ import annotations

from pathlib import Path

from tacit.errors import RunError, did_you_mean


def list_run_folders(runs: Path) -> list[Path]:
    """Return the folders below `runs` that hold a run, oldest first."""
    found = [folder for folder in runs.iterdir() if _holds_run(folder)] if runs.is_dir() else []
    return sorted(found, key=lambda folder: (find_last_change(folder), folder.name))


def find_last_change(folder: Path) -> float:
    """Return when a run last wrote down something, in seconds since 1970."""
    from tacit.runs.run_folder import PLAN, RECORD

    return max(
        (path.stat().st_mtime for path in (folder / RECORD, folder / PLAN) if path.exists()),
        default=0.0,
    )


def _holds_run(folder: Path) -> bool:
    from tacit.runs.run_folder import PLAN, RECORD

    # A run killed in its first moments has a plan but no record yet; it can still be resumed.
    return not folder.name.startswith(".") and (
        (folder / RECORD).is_file() or (folder / PLAN).is_file()
    )


def locate_run(run: str | Path, runs: Path) -> Path:
    """Return the folder of a run given by path or by name; raise RunError with the closest names
    there are.
    """
    for folder in (Path(run), runs / run):
        if _holds_run(folder):
            return folder
    run = str(run)
    known = [folder.name for folder in list_run_folders(runs)]
    if not known:
        raise RunError(
            f"run {run!r}: there is no run in {runs}; `tacit run PLAN` makes one, --runs DIR looks"
            " elsewhere"
        )
    listed = ", ".join(known[-12:]) + (f" and {len(known) - 12} older" if len(known) > 12 else "")
    raise RunError(
        f"run {run!r}: not found in {runs}, which holds {listed}.{did_you_mean(run, known)}"
    )


def find_model_folder(run: str | Path, runs: Path) -> Path:
    """Return the folder of a run given by path or by name, or of a model that was exported with all
    it needs.
    """
    from tacit.runs.run_folder import MODEL_FACTS

    return Path(run) if (Path(run) / MODEL_FACTS).is_file() else locate_run(run, runs)
