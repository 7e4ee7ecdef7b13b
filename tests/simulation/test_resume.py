"""Runs that are stopped and taken up: every entry once, the same model, and no other plan, data or process in between."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from tacit import plan, simulation
from tacit.errors import DiskError, RunError
from tacit.runs import checkpoint, record, recovery, run_folder
from tacit.runs.fingerprint import fingerprint_plan
from tacit.runs.run_folder import RECORD
from tacit.simulation import Silence
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_disclosure import job, people  # noqa: F401 (a fixture)


class Stops(Silence):
    """Presses Ctrl-C at the entry with this number, counted from 0, or after the last checkpoint it allows."""

    def __init__(self, entry: int | None = None) -> None:
        self.left = entry
        self.kinds: list[str] = []

    def opened(self, folder: Path) -> None:
        self.folder = folder

    def entry(self, entry: record.Entry) -> None:
        self.kinds.append(type(entry).__name__)
        if self.left == len(self.kinds) - 1:
            raise KeyboardInterrupt


def told(folder: Path) -> list[dict]:
    """Return every entry but resumptions, without times and without the key that each run draws anew."""
    entries = [
        entry for entry in record.read(folder / RECORD) if not isinstance(entry, record.Resumed)
    ]
    return [
        {"kind": type(entry).__name__, **asdict(entry), "seconds": None, "key": None}
        for entry in entries
    ]


def resumed(folder: Path) -> list[tuple[str, int]]:
    return [
        (entry.arm, entry.round_no)
        for entry in record.read(folder / RECORD)
        if isinstance(entry, record.Resumed)
    ]


@pytest.fixture(scope="module")
def calm(people, tmp_path_factory) -> tuple[plan.Plan, Path, list[str]]:  # noqa: F811
    planned = job(people, server__rounds=2, baselines=["fedavg"], engine__workers=1)
    watch = Stops()
    return planned, simulation.start(planned, tmp_path_factory.mktemp("calm"), watch), watch.kinds


@pytest.mark.slow
def test_a_stop_at_any_entry_leaves_every_entry_once(calm, tmp_path) -> None:
    """Before the first checkpoint, after it, in the first round and in the next arm: each entry stands exactly once."""
    planned, whole, kinds = calm
    assert {
        "Started",
        "Prepared",
        "Released",
        "DisclosedRows",
        "Spent",
        "Round",
        "Spread",
        "Finished",
    } <= set(kinds)
    for number in range(len(kinds)):
        watch = Stops(number)
        with pytest.raises(KeyboardInterrupt):
            simulation.start(planned, tmp_path / str(number), watch)
        simulation.resume(watch.folder)
        assert Counter(entry["kind"] for entry in told(watch.folder)) == Counter(kinds), kinds[
            number
        ]
        assert told(watch.folder) == told(whole)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_a_stop_around_any_checkpoint_leaves_every_entry_once(
    calm, tmp_path, monkeypatch, number, when
) -> None:
    """1 is the first model's, 2 and 3 the rounds', 4 the end of the arm, 5 the first model of the next."""
    planned, whole, _ = calm
    left, write = [number], checkpoint.write

    def stops(folder: Path, now: checkpoint.Checkpoint) -> None:
        left[0] -= 1
        if left[0] == 0 and when == "before":
            raise KeyboardInterrupt
        write(folder, now)
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "write", stops)
    watch = Stops()
    with pytest.raises(KeyboardInterrupt):
        simulation.start(planned, tmp_path, watch)
    simulation.resume(watch.folder)
    assert told(watch.folder) == told(whole)
    assert len(resumed(watch.folder)) == (0 if (number, when) == (1, "before") else 1)


@pytest.fixture
def reviews(tmp_path) -> Path:
    return write_csv(tmp_path / "reviews.csv", rows=120)


def stopped(planned: plan.Plan, root: Path, entry: str = "Round") -> Path:
    """Return the folder of a run that was stopped after its second entry of a kind."""

    class StopsAtSecond(Stops):
        def entry(self, one: record.Entry) -> None:
            super().entry(one)
            if self.kinds.count(entry) == 2:
                raise KeyboardInterrupt

    watch = StopsAtSecond()
    with pytest.raises(KeyboardInterrupt):
        simulation.start(planned, root, watch)
    return watch.folder


def few_rounds(reviews: Path, **changes: object) -> plan.Plan:
    return small_plan(reviews, **{"server__rounds": 3, "engine__workers": 1, **changes})


def test_the_record_says_where_a_run_was_taken_up(reviews, tmp_path) -> None:
    folder = stopped(few_rounds(reviews), tmp_path / "runs")
    simulation.resume(folder)
    assert resumed(folder) == [("run", 1)]


CHANGED_PLANS = {
    "epsilon": {"codec": {"name": "rr", "epsilon": 0.5, "clip": 0.02}},
    "seed": {"seed": 4},
    "rounds": {"server__rounds": 4},
    "clients": {"data__clients": 19},
    "model": {"model": {"name": "mlp", "hidden": [9]}},
}


@pytest.mark.parametrize("name", CHANGED_PLANS)
def test_a_changed_plan_is_refused(reviews, tmp_path, name) -> None:
    folder = stopped(few_rounds(reviews), tmp_path / "runs")
    before = (folder / RECORD).read_bytes()
    (folder / run_folder.PLAN).write_text(plan.to_toml(few_rounds(reviews, **CHANGED_PLANS[name])))
    with pytest.raises(RunError, match=r"plan\.toml: was changed since the run began"):
        simulation.resume(folder)
    assert (folder / RECORD).read_bytes() == before


def test_workers_and_later_baselines_may_change(reviews, tmp_path) -> None:
    planned = few_rounds(reviews)
    folder = stopped(planned, tmp_path / "runs")
    other = few_rounds(reviews, engine__workers=2, baselines=["fedavg"])
    assert fingerprint_plan(other) == fingerprint_plan(planned)
    (folder / run_folder.PLAN).write_text(plan.to_toml(other))
    simulation.resume(folder)
    arms = [
        entry.arm for entry in record.read(folder / RECORD) if isinstance(entry, record.Finished)
    ]
    assert arms == ["run", "fedavg"]


def test_a_baseline_that_was_begun_must_stay(reviews, tmp_path) -> None:
    folder = stopped(few_rounds(reviews, baselines=["fedavg"]), tmp_path / "runs", entry="Finished")
    (folder / run_folder.PLAN).write_text(plan.to_toml(few_rounds(reviews)))
    with pytest.raises(RunError, match="must contain the baseline 'fedavg'"):
        simulation.resume(folder)


CHANGED_DATA = {
    "a label": lambda lines: [
        lines[0],
        lines[1].replace(",up", ",down") if ",up" in lines[1] else lines[1].replace(",down", ",up"),
    ],
    "a cell": lambda lines: [lines[0], lines[1].replace(" ", " grey ", 1)],
    "fewer rows": lambda lines: lines[:60],
    "another order": lambda lines: [lines[0], *reversed(lines[1:])],
}


@pytest.mark.parametrize("what", CHANGED_DATA)
def test_changed_data_are_refused(reviews, tmp_path, what) -> None:
    folder = stopped(few_rounds(reviews), tmp_path / "runs")
    lines = reviews.read_text().splitlines()
    changed = CHANGED_DATA[what](lines)
    rest = lines[len(changed) :] if len(changed) == 2 else []
    reviews.write_text("\n".join([*changed, *rest]) + "\n")
    with pytest.raises(RunError, match="its data changed since the run began"):
        simulation.resume(folder)


def test_the_first_entry_carries_both_fingerprints(reviews, tmp_path) -> None:
    planned = few_rounds(reviews)
    folder = simulation.start(planned, tmp_path / "runs")
    first = next(iter(record.read(folder / RECORD)))
    assert isinstance(first, record.Started)
    assert first.version == record.VERSION
    assert first.plan_fingerprint == fingerprint_plan(planned)
    assert len(first.data_fingerprint) == 64


def test_a_run_under_way_is_locked(reviews, tmp_path) -> None:
    seen = []

    class Looks(Stops):
        def entry(self, entry: record.Entry) -> None:
            if isinstance(entry, record.Round) and entry.round_no == 1:
                seen.append(run_folder.is_running(self.folder))
                with pytest.raises(RunError, match=f"run by another process .pid {os.getpid()}."):
                    simulation.resume(self.folder)

    folder = simulation.start(few_rounds(reviews), tmp_path / "runs", Looks())
    assert seen == [True]
    assert not run_folder.is_running(folder)
    simulation.resume(folder)


@pytest.mark.slow
def test_two_resumes_at_once_are_one_run(reviews, tmp_path) -> None:
    planned = few_rounds(reviews, server__rounds=40)
    whole = simulation.start(planned, tmp_path / "whole")
    folder = stopped(planned, tmp_path / "runs")
    code = (
        "import sys, pathlib; from tacit import errors, simulation\ntry:"
        " simulation.resume(pathlib.Path(sys.argv[1]))\nexcept errors.RunError as error:"
        " sys.exit(str(error))"
    )
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(folder)], stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    ends = [(one.communicate()[1], one.returncode) for one in both]
    assert all(code == 0 or "another process" in words for words, code in ends)
    assert any(code == 0 for _, code in ends)
    assert told(folder) == told(whole)


def test_a_lock_left_by_a_killed_process_does_not_count(reviews, tmp_path) -> None:
    folder = stopped(few_rounds(reviews), tmp_path / "runs")
    code = (
        "import sys, pathlib, time; from tacit.runs import run_folder\n"
        "with run_folder.lock(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    assert run_folder.is_running(folder)
    holder.kill()
    holder.wait()
    assert not run_folder.is_running(folder)
    simulation.resume(folder)


@pytest.mark.parametrize(
    "name",
    ["plan.toml", "record.jsonl", "checkpoint.safetensors", "private", "lock", "report.html"],
)
def test_symbolic_links_are_refused(reviews, tmp_path, name) -> None:
    folder = stopped(few_rounds(reviews), tmp_path / "runs")
    foreign = tmp_path / "foreign"
    if name == "private":
        (foreign / "run").mkdir(parents=True)
        (foreign / "run" / "precious").write_text("keep me")
    elif (folder / name).exists():
        (folder / name).rename(foreign)
    else:
        foreign.write_text("keep me")
    (folder / name).symlink_to(foreign)
    with pytest.raises(RunError, match=f"{name}: is a symbolic link"):
        simulation.resume(folder)
    assert foreign.exists()
    assert name != "private" or (foreign / "run" / "precious").exists()


def test_only_the_owner_may_enter_a_runs_folder(reviews, tmp_path) -> None:
    folder = run_folder.create(few_rounds(reviews), tmp_path / "runs")
    assert folder.stat().st_mode & 0o077 == 0


def test_a_full_disk_ends_the_search_for_a_folder(reviews, tmp_path, monkeypatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(DiskError, match="cannot create a folder for the run there"):
        run_folder.create(few_rounds(reviews), tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


def test_files_a_kill_left_half_written_are_removed(reviews, tmp_path) -> None:
    folder = stopped(few_rounds(reviews), tmp_path / "runs")
    left = folder / ".checkpoint.safetensors.abc.new"
    left.write_bytes(b"half")
    simulation.resume(folder)
    assert not left.exists()


@pytest.mark.parametrize("part", ["model", "updates", "state"])
def test_a_checkpoint_of_another_size_is_refused_before_anything_runs(
    reviews, tmp_path, part
) -> None:
    folder = stopped(few_rounds(reviews, server__optimizer="momentum"), tmp_path / "runs")
    last = checkpoint.read(folder)
    other = {
        "model": lambda: replace(last, model=last.model[:-3]),
        "updates": lambda: replace(last, updates=np.zeros(10_000, np.int64)),
        "state": lambda: replace(last, state={"mean": last.state["mean"][:5]}),
    }[part]()
    checkpoint.write(folder, other)
    with pytest.raises(
        RunError, match=f"checkpoint.safetensors: {part}.* must have .* values for the plan"
    ):
        simulation.resume(folder)


@pytest.mark.slow
def test_figures_over_rounds_survive_a_stop_without_the_record(reviews, tmp_path) -> None:
    """The loop keeps what it needs of earlier rounds in its checkpoint and never reads the record."""
    pytest.importorskip("torch")
    from tests.simulation.worded import worded_plan

    planned = worded_plan(
        reviews, server={"rounds": 2, "cohort": "count", "cohort_size": 2}, engine={"workers": 1}
    )
    whole = simulation.start(planned, tmp_path / "whole")
    folder = stopped(planned, tmp_path / "runs")
    simulation.resume(folder)
    assert told(folder) == told(whole)
    assert (
        "late_local"
        in next(entry for entry in told(folder) if entry["kind"] == "Finished")["metrics"]
    )


def test_fingerprints_are_fast(tmp_path) -> None:
    """Thirty million bytes of rows, as many as the 50,000 texts of IMDB have, are hashed in well under a second."""
    from tacit.randomness import Draws
    from tacit.simulation.fingerprint import data_fingerprint
    from tacit.simulation.prepared_rows import prepare

    planned = few_rounds(write_csv(tmp_path / "reviews.csv", rows=40))
    ground = prepare(planned, Draws.seeded(0))
    wide = replace(
        ground.train, inputs=replace(ground.train.inputs, columns=np.zeros(7_500_000, np.int32))
    )
    begun = time.process_time()
    data_fingerprint(replace(ground, train=wide))
    assert time.process_time() - begun < 0.3


def test_a_listing_loads_nothing_that_trains() -> None:
    code = (
        "import sys, json, tacit.runs.run_folder; print(json.dumps([name for name in ('numba',"
        " 'torch') if name in sys.modules]))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) == []


def test_an_abandoned_run_loses_its_key_and_cannot_go_on(reviews, tmp_path) -> None:
    folder = stopped(few_rounds(reviews), tmp_path / "runs")
    before = told(folder)
    assert recovery.abandon(folder) == ["record.key"]
    *kept, last = told(folder)
    assert kept == before
    assert last["kind"] == "Abandoned"
    with pytest.raises(RunError, match="was abandoned"):
        simulation.resume(folder)
    done = simulation.start(few_rounds(reviews), tmp_path / "runs")
    with pytest.raises(
        RunError, match="has finished, and its keys are deleted; there is nothing to abandon"
    ):
        recovery.abandon(done)


def test_a_run_without_the_key_of_its_record_does_not_go_on(reviews, tmp_path) -> None:
    folder = stopped(few_rounds(reviews), tmp_path / "runs")
    (folder / "record.key").unlink()
    before = (folder / RECORD).read_bytes()
    with pytest.raises(
        RunError, match=r"record\.key: is missing; without it the run cannot be resumed"
    ):
        simulation.resume(folder)
    assert (folder / RECORD).read_bytes() == before
