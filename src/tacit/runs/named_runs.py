"""Find run folders by name or path."""

from __future__ import annotations

from pathlib import Path

from tacit.errors import RunError, did_you_mean


def list_run_folders(runs: Path) -> list[Path]:
    """List the folders in `runs` that contain a run, oldest first."""
    found = [folder for folder in runs.iterdir() if _contains_run(folder)] if runs.is_dir() else []
    return sorted(found, key=lambda folder: (find_last_change(folder), folder.name))


def find_last_change(folder: Path) -> float:
    """Time at which a run last wrote its record or plan, in seconds since 1970."""
    from tacit.runs.run_folder import PLAN, RECORD

    return max(
        (path.stat().st_mtime for path in (folder / RECORD, folder / PLAN) if path.exists()),
        default=0.0,
    )


def _contains_run(folder: Path) -> bool:
    from tacit.runs.run_folder import PLAN, RECORD

    # A run killed in its first moments has a plan but no record yet; it can still be resumed.
    return not folder.name.startswith(".") and (
        (folder / RECORD).is_file() or (folder / PLAN).is_file()
    )


def locate_run(run: str | Path, runs: Path) -> Path:
    """Find the folder of a run by path or name; raise RunError with the closest names if there is
    none.
    """
    for folder in (Path(run), runs / run):
        if _contains_run(folder):
            return folder
    run = str(run)
    known = [folder.name for folder in list_run_folders(runs)]
    if not known:
        raise RunError(
            f"run {run!r}: there is no run in {runs}; start one with `tacit run PLAN`, or name"
            " another folder with --runs DIR"
        )
    listed = ", ".join(known[-12:]) + (f" and {len(known) - 12} older" if len(known) > 12 else "")
    raise RunError(
        f"run {run!r}: not found in {runs}, which contains {listed}.{did_you_mean(run, known)}"
    )


def find_model_folder(run: str | Path, runs: Path) -> Path:
    """Find the folder of a run by path or name, or of an exported model."""
    from tacit.runs.run_folder import MODEL_FACTS

    return Path(run) if (Path(run) / MODEL_FACTS).is_file() else locate_run(run, runs)
