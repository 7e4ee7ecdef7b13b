"""A callback sees every entry of the record, and never changes or ends a run."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import tacit
from tacit.runs import record, run_folder
from tacit.runs.record import RUN, Entry, Prepared, Resumed, Round, Signed
from tests.simulation.small import small_plan, write_csv

SILENT = tacit.Silence()


@pytest.fixture
def plan(tmp_path: Path) -> tacit.Plan:
    return small_plan(write_csv(tmp_path / "reviews.csv"), server__rounds=3)


def test_a_callback_receives_the_entries_of_the_record_in_order(
    plan: tacit.Plan, tmp_path: Path
) -> None:
    seen: list[tuple[Entry, Path]] = []
    run = tacit.run(
        plan, folder=tmp_path / "runs", observer=SILENT, on_entry=lambda *both: seen.append(both)
    )
    written = [
        entry
        for _, entry in record.read_lines(run.folder / run_folder.RECORD)
        if not isinstance(entry, Signed)
    ]
    assert [entry for entry, _ in seen] == written
    assert {folder for _, folder in seen} == {run.folder}


def test_an_exception_is_reported_once_and_the_run_continues(
    plan: tacit.Plan, tmp_path: Path
) -> None:
    calls: list[Entry] = []

    def fail(entry: Entry, folder: Path) -> None:
        calls.append(entry)
        if isinstance(entry, Round):
            raise KeyError("my metric")

    with pytest.warns(
        RuntimeWarning,
        match=r"on_entry failed on an entry of kind Round: KeyError: 'my metric' \(test_entry",
    ) as said:
        run = tacit.run(plan, folder=tmp_path / "runs", observer=SILENT, on_entry=fail)
    assert len(said) == 1
    assert sum(isinstance(entry, Round) for entry in calls) == 1
    assert len(record.select_entries(run.entries, Round, RUN)) == 3


def test_a_callback_that_changes_an_entry_does_not_change_the_run(
    plan: tacit.Plan, tmp_path: Path
) -> None:
    def spoil(entry: Entry, folder: Path) -> None:
        if isinstance(entry, Round):
            entry.metrics.clear()
        if isinstance(entry, Prepared):
            entry.rows_per_client.clear()

    usual = tacit.run(plan, folder=tmp_path / "usual", observer=SILENT)
    watched = tacit.run(plan, folder=tmp_path / "watched", observer=SILENT, on_entry=spoil)
    assert watched.parameters_sha256 == usual.parameters_sha256
    assert watched.metrics.equals(usual.metrics)


def test_an_interrupt_from_a_callback_stops_the_run_which_resumes(
    plan: tacit.Plan, tmp_path: Path
) -> None:
    def stop(entry: Entry, folder: Path) -> None:
        if isinstance(entry, Round) and entry.round_no == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tacit.run(plan, folder=tmp_path / "runs", observer=SILENT, on_entry=stop)
    seen: list[Entry] = []
    run = tacit.resume(
        "small-1",
        folder=tmp_path / "runs",
        observer=SILENT,
        on_entry=lambda entry, _: seen.append(entry),
    )
    assert isinstance(seen[0], Resumed)
    assert record.select_entries(seen, Round, RUN)[-1].round_no == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        usual = tacit.run(plan, folder=tmp_path / "usual", observer=SILENT)
    assert run.parameters_sha256 == usual.parameters_sha256
