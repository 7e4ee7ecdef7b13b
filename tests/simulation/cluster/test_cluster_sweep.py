"""Runs of a search on a cluster: the same models, kept after each return, continued after a stop."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit import plan as plans
from tacit import simulation
from tacit.errors import PlanError, WireError
from tacit.runs import checkpoint, cluster_sweep, sweep
from tacit.runs.sweep import Outcome
from tests.simulation.cluster.local_crew import use_local_crews
from tests.simulation.small import small_plan, write_csv


class Watch:
    """Counts what it is told, and stops the search after some reports."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.ends, self.rounds, self.stop_after = dict[int, Outcome](), list[int](), stop_after

    def report_start(self, number: int) -> None:
        pass

    def report_round(self, number: int, round_no: int, rounds: int) -> None:
        self.rounds.append(round_no)
        if self.stop_after is not None and len(self.rounds) >= self.stop_after:
            raise KeyboardInterrupt

    def report_warning(self, number: int, text: str) -> None:
        raise AssertionError(text)

    def report_end(self, number: int, outcome: Outcome) -> None:
        self.ends[number] = outcome


def hash_of(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.slow
def test_a_stopped_search_continues_and_ends_in_the_same_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = replace(small_plan(write_csv(tmp_path / "reviews.csv")), baselines=())
    first = replace(first, server=replace(first.server, rounds=30))
    wanted = [first, replace(first, seed=8)]
    use_local_crews(monkeypatch, 2, where=cluster_sweep)
    monkeypatch.setattr(cluster_sweep, "SECONDS", 0.0)
    root, watch = tmp_path / "runs", Watch(stop_after=1)
    with pytest.raises(KeyboardInterrupt):
        sweep.carry_out(wanted, root, 2, watch, "local:2")
    assert any((folder / checkpoint.NAME).exists() for folder in root.iterdir())
    monkeypatch.setattr(cluster_sweep, "SECONDS", 60.0)
    found = sweep.carry_out(wanted, root, 2, Watch(), "local:2")
    for plan, outcome in zip(wanted, found, strict=True):
        assert outcome.folder is not None, outcome.error
        assert hash_of(outcome.folder) == hash_of(simulation.start(plan, tmp_path / "alone"))
    assert all(one.was_there for one in sweep.carry_out(wanted, root, 2, Watch(), "local:2"))


def test_a_failed_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(small_plan(write_csv(tmp_path / "reviews.csv")), baselines=())
    (tmp_path / "reviews.csv").unlink()
    use_local_crews(monkeypatch, 1, where=cluster_sweep)
    (found,) = sweep.carry_out([plan], tmp_path / "runs", 1, Watch(), "local:1")
    assert found.folder is None
    assert "reviews.csv" in found.error


def test_trackers_are_refused(tmp_path: Path) -> None:
    plan = small_plan(write_csv(tmp_path / "reviews.csv"))
    tracked = replace(plan, baselines=(), track=plans.Track(tensorboard=str(tmp_path / "logs")))
    with pytest.raises(PlanError, match="trackers cannot write from a cluster"):
        sweep.carry_out([tracked], tmp_path / "runs", 1, Watch(), "local:1")


@pytest.mark.parametrize("name", ["../elsewhere", "/etc/passwd"])
def test_no_file_is_written_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(WireError, match="not those of a run"):
        cluster_sweep._write_files(tmp_path / "run", [name], [np.zeros(1, np.uint8)])
