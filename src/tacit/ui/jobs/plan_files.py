"""Plan files that a page may start: those of one folder that the user named."""

from __future__ import annotations

import os
from pathlib import Path

from tacit.errors import PlanError
from tacit.ui.records.safe_files import is_plain_name

_MAX_PLANS = 300


def list_plan_files(folder: Path | None) -> list[str]:
    """Names of the plan files in a folder, without symbolic links and hidden files."""
    if folder is None:
        return []
    try:
        with os.scandir(folder) as entries:
            found = [
                entry.name
                for entry in entries
                if entry.name.endswith(".toml")
                and is_plain_name(entry.name)
                and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return sorted(found)[:_MAX_PLANS]


def find_plan_file(folder: Path | None, name: str) -> Path:
    """The path of a plan file that the page lists; raise PlanError for any other name."""
    if folder is None or name not in list_plan_files(folder):
        raise PlanError("There is no plan file of this name in the folder named by --plans.")
    return folder / name
