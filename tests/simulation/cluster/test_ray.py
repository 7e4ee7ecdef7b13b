"""One run on Ray itself: an actor is killed in the middle of a round, and the model is the same."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from bench.carriers import build_plan, write_rows
from tacit import plan as plans
from tacit import simulation
from tacit.cluster.crew import Crew
from tacit.cluster.session import connect
from tacit.errors import RunError
from tacit.simulation import Silence
from tacit.simulation.cluster import driver
from tests.simulation.cluster.test_cluster import hash_of

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs tacit[cluster]"
)
"""Not imported here: Ray reads the token's mode when it is imported."""


class Kills(Silence):
    """Kills an actor in round 2."""

    def __init__(self, crews: list[Crew]) -> None:
        self.crews, self.killed = crews, 0

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        if round_no == 2 and not self.killed:
            import ray

            self.killed += 1
            ray.kill(self.crews[0]._places[1].handle)


@pytest.mark.slow
def test_a_run_on_ray_is_the_run_on_one_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = build_plan("rr", write_rows(tmp_path / "rows.csv", 200))
    alone = simulation.start(plan, tmp_path / "alone")
    crews = list[Crew]()

    def build(cores: int, maker: str) -> Crew:
        crews.append(Crew(cores, maker))
        return crews[-1]

    monkeypatch.setattr(driver, "Crew", build)
    before = signal.getsignal(signal.SIGTERM)
    kills = Kills(crews)
    with connect("local:2") as cores:
        assert cores == 2
        assert signal.getsignal(signal.SIGTERM) is before
        with pytest.raises(RunError, match="attached to Ray already"), connect("local:1"):
            pass
        attached = replace(plan, engine=plans.Engine(cluster="auto"))
        there = simulation.start(attached, tmp_path / "there", kills)
    assert kills.killed == 1
    assert hash_of(there) == hash_of(alone)
    assert os.environ["RAY_AUTH_MODE"] == "token"


def test_ray_that_was_imported_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = ModuleType("ray")
    vars(ray)["is_initialized"] = lambda: False
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(RunError, match="imported Ray before"), connect("local:2"):
        pass


def test_a_cluster_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(RunError, match="without a token"), connect("head:6379"):
        pass
