"""Runs that stop in the middle and are resumed, with everything that trackers should have of them."""

from __future__ import annotations

from pathlib import Path

import tacit
from tacit.runs import record, run_folder
from tacit.runs.record import RUN, Entry, Round
from tacit.tracking import OnEntry
from tests.simulation.small import small_plan, write_csv


def make_plan(folder: Path, **changes: object) -> tacit.Plan:
    return small_plan(
        write_csv(folder / "reviews.csv"), server__rounds=4, baselines=["fedavg"], **changes
    )


def stop_after(round_no: int, arm: str = RUN) -> OnEntry:
    """A callback that stops a run when an entry after the round is written, so that a resume
    supersedes it.
    """
    state = {"seen": False}

    def stop(entry: Entry, folder: Path) -> None:
        if state["seen"] and isinstance(entry, Round):
            raise KeyboardInterrupt
        if isinstance(entry, Round) and (entry.arm, entry.round_no) == (arm, round_no):
            state["seen"] = True

    return stop


def list_rounds(folder: Path, arm: str = RUN) -> list[Round]:
    return record.select_entries(list(run_folder.entries(folder)), Round, arm)


def count_lines(folder: Path) -> int:
    """Rounds in the file, also those that a resume superseded."""
    return sum(isinstance(one, Round) for _, one in record.read_lines(folder / run_folder.RECORD))
