"""The commands behind the buttons of the pages over runs. Paths are absolute, so that no name of a run
or plan is read as an option.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def start_run(plan: Path, runs: Path) -> list[str]:
    """Start a run from a plan file."""
    return ["tacit", "run", str(plan), "--runs", str(runs), "--quiet", "--no-report"]


def resume_run(folder: Path) -> list[str]:
    """Continue a stopped run."""
    return ["tacit", "resume", str(folder), "--quiet", "--no-report"]


def describe_stop(process: int | None) -> str:
    """The command that stops the process of a run."""
    return f"kill -INT {process}" if process else "Ctrl-C in its terminal"


def attack_plan(plan: Path) -> list[str]:
    """Attack the messages of a few simulated clients of a plan."""
    return ["tacit", "audit", "reconstruct", str(plan), "--rows", "--json", "--quiet"]


def disclose_plan(plan: Path) -> list[str]:
    """Preview one message of a plan."""
    return ["tacit", "plan", "disclose", str(plan), "--json"]


def compare_command(folders: Sequence[Path]) -> list[str]:
    """Compare runs."""
    return ["tacit", "runs", "compare", *map(str, folders)]


def show_command(command: Sequence[str]) -> str:
    """The command as one types it into a shell."""
    return shlex.join(command)
