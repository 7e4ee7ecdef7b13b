"""Actors in this process, without Ray: they take tasks in random order, lose answers, and are replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tacit.cluster.actor import Actor, Raw
from tacit.cluster.crew import ActorTask, Done, _build_error, _raw
from tacit.cluster.packet import Packet
from tacit.simulation.cluster import driver


def check_plain(raw: Raw) -> None:
    """Only bytes and arrays of bytes travel."""
    body, blobs = raw
    assert type(body) is bytes
    assert all(type(blob) is np.ndarray and blob.dtype == np.uint8 for blob in blobs)


def over_the_wire(raw: Raw) -> Raw:
    """A packet as another process has it: read-only copies."""
    check_plain(raw)
    copies = [blob.copy() for blob in raw[1]]
    for one in copies:
        one.flags.writeable = False
    return raw[0], copies


class LocalCrew:
    """Actors of one process; each loses a task with probability `loss`, before or after it is done."""

    def __init__(self, cores: int, maker: str, *, loss: float, sizes: list[int]) -> None:
        self._maker, self._loss, self._sizes = maker, loss, sizes
        self._draw = np.random.default_rng(cores)
        self._opening: tuple[str, Raw, Raw] | None = None
        self._made = 0
        self._actors = [self._build() for _ in range(cores)]
        self.lost = 0

    def __len__(self) -> int:
        return len(self._actors)

    def _build(self) -> tuple[int, Actor]:
        self._made += 1
        actor = Actor(self._maker)
        if self._opening is not None:
            self._answer(actor, *self._opening)
        return self._made, actor

    def _answer(self, actor: Actor, kind: str, own: Raw, shared: Raw) -> Packet:
        self._sizes.append(sum(blob.nbytes for blob in own[1]))
        name, body, blobs = actor.answer(kind, over_the_wire(own), over_the_wire(shared))
        if name:
            raise _build_error(name, body.decode())
        return Packet(*over_the_wire((body, blobs)))

    def store(self, packet: Packet) -> Any:
        return _raw(packet)

    def open(self, kind: str, own: Packet, shared: Packet) -> None:
        self._opening = kind, _raw(own), _raw(shared)
        for _, actor in self._actors:
            self._answer(actor, *self._opening)

    def close(self) -> None:
        self._actors = []

    def carry_out(
        self, kind: str, tasks: Sequence[ActorTask], shared: Any, *, repeats_slow: bool = True
    ) -> Iterator[Done]:
        left, known = list(self._draw.permutation(len(tasks))), len(tasks)
        while left:
            number = int(left[0])
            place = int(self._draw.integers(len(self._actors)))
            name, actor = self._actors[place]
            own = _raw(tasks[number].build(name))
            fate = self._draw.random()
            if fate >= self._loss / 2:
                answer = self._answer(actor, kind, own, shared)
            if fate < self._loss:
                self.lost += 1
                self._actors[place] = self._build()
                continue
            left.pop(0)
            yield Done(number, name, answer)
            left += range(known, len(tasks))  # tasks that were appended meanwhile
            known = len(tasks)


def use_local_crews(
    monkeypatch: pytest.MonkeyPatch, cores: int, *, loss: float = 0.0, where: ModuleType = driver
) -> tuple[list[LocalCrew], list[int]]:
    """Let runs on a cluster use such actors; return the crews, and the bytes of each call."""
    made, sizes = list[LocalCrew](), list[int]()

    @contextmanager
    def connect(address: str) -> Iterator[int]:
        yield cores

    def build(count: int, maker: str) -> LocalCrew:
        made.append(LocalCrew(count, maker, loss=loss, sizes=sizes))
        return made[-1]

    monkeypatch.setattr(where, "connect", connect)
    monkeypatch.setattr(where, "Crew", build)
    return made, sizes
