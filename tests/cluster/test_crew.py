"""Tasks survive the loss of actors; what cannot succeed stops with a reason."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tacit.cluster import crew as crews
from tacit.cluster.crew import ActorTask, Crew
from tacit.cluster.packet import Packet
from tacit.errors import DataError, RunError


class FakeRay:
    """Calls that end in a random order, and actors that die when `dies` says so."""

    class RayError(Exception):
        pass

    class RayTaskError(RayError):
        pass

    def __init__(self, dies: Any) -> None:
        self.exceptions = SimpleNamespace(RayError=self.RayError, RayTaskError=self.RayTaskError)
        self.draw, self.dies, self.actors, self.calls = np.random.default_rng(0), dies, 0, 0
        self.answer: Any = lambda own: ("", own[0].upper(), [])

    def remote(self, actor: type) -> Any:
        ray = self

        class Remote:
            def options(self, **options: object) -> Any:
                assert options == {"num_cpus": 1, "max_restarts": 0}
                return self

            def remote(self, maker: str) -> Any:
                ray.actors += 1
                handle = SimpleNamespace(name=ray.actors, dead=False)
                handle.is_up = SimpleNamespace(
                    remote=lambda: SimpleNamespaceKey(handle=handle, call=("up", (b"", []), None))
                )
                handle.answer = SimpleNamespace(
                    remote=lambda *call: SimpleNamespaceKey(handle=handle, call=call)
                )
                return handle

        return Remote()

    def put(self, value: Any) -> Any:
        return value

    def kill(self, handle: Any) -> None:
        handle.dead = True

    def wait(self, refs: list[Any], num_returns: int, timeout: float) -> Any:
        ready = [ref for ref in refs if not getattr(ref.handle, "silent", False)]
        some = [ready[int(self.draw.integers(len(ready)))]] if ready else []
        return some, []

    def get(self, ref: Any) -> Any:
        self.calls += 1
        if ref.handle.dead or self.dies(self, ref):
            ref.handle.dead = True
            raise self.RayError("the actor died")
        if ref.call[0] == "up":
            return True
        return self.answer(ref.call[1]) if ref.call[0] == "do" else ("", b"", [])


class SimpleNamespaceKey(SimpleNamespace):
    """Hashable by identity, as references are."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def build(monkeypatch: pytest.MonkeyPatch, dies: Any, cores: int = 3) -> tuple[Crew, FakeRay]:
    ray = FakeRay(dies)
    monkeypatch.setitem(sys.modules, "ray", ray)
    crew = Crew(cores, "nobody:nothing")
    crew.open("open", Packet(b""), Packet(b""))
    return crew, ray


def tasks(count: int) -> list[ActorTask]:
    return [
        ActorTask(place, lambda actor, place=place: Packet(b"t%d" % place))
        for place in range(count)
    ]


def carry_out(crew: Crew, count: int) -> list[bytes]:
    found = {done.task: done.answer.body for done in crew.carry_out("do", tasks(count), None)}
    return [found[number] for number in range(count)]


EXPECTED = [b"T%d" % number for number in range(10)]


def test_each_task_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    crew, _ = build(monkeypatch, lambda ray, ref: False)
    for _ in range(3):
        assert carry_out(crew, 10) == EXPECTED
    assert len(crew) == 3


def test_lost_actors_are_replaced_and_their_tasks_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    crew, ray = build(monkeypatch, lambda ray, ref: ray.draw.random() < 0.2)
    for _ in range(5):
        assert carry_out(crew, 10) == EXPECTED
    assert ray.actors > 3


def test_a_silent_actor_s_task_is_given_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that was cut off neither answers nor is known to be lost for a while."""
    monkeypatch.setattr(crews, "_LEAST_WAIT", 0.0)
    crew, _ = build(monkeypatch, lambda ray, ref: False)
    assert carry_out(crew, 10) == EXPECTED
    crew._places[1].handle.silent = True
    assert carry_out(crew, 10) == EXPECTED
    assert carry_out(crew, 10) == EXPECTED


def test_a_task_that_ends_every_actor_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    crew, _ = build(monkeypatch, lambda ray, ref: ref.call[1][0] == b"t4")
    with pytest.raises(RunError, match="5 actors of the cluster ended at the same clients"):
        carry_out(crew, 10)


def test_actors_that_cannot_start_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    crew, _ = build(monkeypatch, lambda ray, ref: True)
    with pytest.raises(RunError, match="end before they can answer"):
        carry_out(crew, 10)


def test_no_actor_at_all_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "_PATIENCE", 0.1)
    crew, _ = build(monkeypatch, lambda ray, ref: False)
    for place in crew._places:
        place.handle.silent = True
    with pytest.raises(RunError, match="has had no actor"):
        carry_out(crew, 10)


def test_an_error_of_ours_keeps_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    crew, ray = build(monkeypatch, lambda ray, ref: False)
    ray.answer = lambda own: ("DataError", b"rows.csv: is missing", [])
    with pytest.raises(DataError, match=r"rows\.csv: is missing"):
        carry_out(crew, 1)
    ray.answer = lambda own: ("VersionError", b"old", [])
    with pytest.raises(RunError, match="old"):
        carry_out(crew, 1)
