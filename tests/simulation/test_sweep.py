"""Runs in processes of their own: taken up after a stop, not run twice, and one that fails leaves the others alone."""

from pathlib import Path

import pytest

from tacit import simulation
from tacit.runs import record, sweep
from tacit.runs.run_folder import RECORD, read_plan
from tests.simulation.small import small_plan, write_csv


class Watch:
    """Notes what it hears, and presses Ctrl-C after a round if told to."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after, self.rounds, self.ends = (
            stop_after,
            list[tuple[int, int]](),
            dict[int, sweep.Outcome](),
        )
        self.warnings = list[str]()

    def report_start(self, number: int) -> None:
        pass

    def report_round(self, number: int, round_no: int, rounds: int) -> None:
        self.rounds.append((number, round_no))
        if round_no == self.stop_after:
            raise KeyboardInterrupt

    def report_warning(self, number: int, text: str) -> None:
        self.warnings.append(text)

    def report_end(self, number: int, outcome: sweep.Outcome) -> None:
        self.ends[number] = outcome


def model(folder: Path | None) -> str:
    assert folder is not None
    return record.select_entries(list(record.read(folder / RECORD)), record.Finished, "run")[
        -1
    ].parameters_sha256


@pytest.mark.slow
def test_a_stopped_sweep_goes_on_and_a_failed_run_is_named(tmp_path: Path) -> None:
    source, logs = write_csv(tmp_path / "reviews.csv", rows=120), tmp_path / "logs"
    jobs = [
        small_plan(source, server={"rounds": 40}, baselines=["fedavg"]),
        small_plan(tmp_path / "missing.csv"),
        small_plan(source, server={"rounds": 2}, seed=4, track={"tensorboard": str(logs)}),
    ]
    with pytest.raises(KeyboardInterrupt):
        sweep.carry_out(jobs, tmp_path / "runs", 1, Watch(stop_after=3))
    again = Watch()
    taken_up, failed, short = sweep.carry_out(jobs, tmp_path / "runs", 1, again)
    first = [round_no for number, round_no in again.rounds if number == 0]
    assert first == list(range(first[0], 41))
    assert first[0] >= 3, "rounds before the stop are not run again"
    assert "missing.csv" in failed.error
    assert failed.folder is None
    assert short.folder is not None
    assert [path.name for path in logs.iterdir()] == [short.folder.name]
    assert again.ends == {0: taken_up, 1: failed, 2: short}
    assert model(taken_up.folder) == model(simulation.start(jobs[0], tmp_path / "alone"))
    assert read_plan(taken_up.folder).baselines == ()
    third = sweep.carry_out([jobs[2], jobs[0]], tmp_path / "runs", 1, Watch())
    assert [(one.folder, one.was_there) for one in third] == [
        (short.folder, True),
        (taken_up.folder, True),
    ]


def test_a_damaged_or_foreign_folder_counts_for_nothing(tmp_path: Path) -> None:
    for name, text in (("a-1", "no toml ["), ("b-1", 'name = "b"\n'), (".new-1", 'name = "c"\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.toml").write_text(text)
    (tmp_path / "b-1" / RECORD).write_bytes(b"garbage\n")
    (tmp_path / "notes.txt").write_text("mine")
    assert sweep._find_runs(tmp_path) == {}


def test_no_run_begins_beside_others_before_there_is_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        sweep, "_Process", lambda heard, at_once: type("Idle", (), {"number": None})()
    )
    pool = sweep._Pool([], tmp_path, 3, Watch())
    first = pool._free()
    first.number = 0
    assert pool._free() is None, "the first has not shown what it takes"
    pool.largest = 10**9
    monkeypatch.setattr(sweep, "_free_memory", lambda: 10**9)
    assert pool._free() is None
    monkeypatch.setattr(sweep, "_free_memory", lambda: 2 * 10**9)
    second = pool._free()
    assert second is pool._free() is not first, "an idle process is used before another is made"
    second.number = 1
    pool._free().number = 2
    assert pool._free() is None, "at most three at once"
