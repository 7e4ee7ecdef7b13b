"""Actors that share tasks: each works on its own queue first, then helps the others; one that is lost
is replaced, and the others repeat its tasks.

A task has the same answer wherever it is computed, so it may be given to a second actor when the first
one takes long, and the first answer counts.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tacit import errors
from tacit.cluster.actor import Actor, Outcome, Raw
from tacit.cluster.packet import Packet
from tacit.errors import RunError, TacitError

_AT_ONCE = 2
"""Calls that an actor has at once: one that it computes, and the next."""
_PATIENCE = 900.0
"""Seconds after which a run stops if no actor has started."""
_LEAST_WAIT, _SLOWER = 2.0, 3.0
"""An idle actor repeats a task that takes longer than this, in seconds and in median times."""
_MOST_LOSSES = 5
"""Actors that one task may lose before the run stops: then the task is what ends them."""


class ActorTask(NamedTuple):
    """A task for any actor, preferably the one in place `preferred`; `build` makes the packet for an
    actor, given by a number that no two actors share.
    """

    preferred: int
    build: Callable[[int], Packet]


class Done(NamedTuple):
    """The answer to a task, and the actor that gave it."""

    task: int
    actor: int
    answer: Packet


@dataclass
class _Place:
    """A core of the cluster, its present actor, and the calls that the actor has."""

    handle: Any
    actor: int
    starting: Any
    opening: Any = None
    calls: dict[Any, tuple[int, int, float]] = field(default_factory=dict)


class Crew:
    """One actor per core."""

    def __init__(self, cores: int, maker: str) -> None:
        import ray

        self._ray, self._maker = ray, maker
        self._remote: Any = ray.remote(Actor)
        self._made = self._generation = self._failed = 0
        self._opening: tuple[str, Raw, Any] | None = None
        self._places = [self._build_place() for _ in range(cores)]

    def __len__(self) -> int:
        return len(self._places)

    def store(self, packet: Packet) -> Any:
        """Put a packet into the object store, once for all actors."""
        return self._ray.put(_raw(packet))

    def open(self, kind: str, own: Packet, shared: Packet) -> None:
        """Make a call to each actor before its next task; new actors are called in the same way."""
        self._opening = (kind, _raw(own), self.store(shared))
        for place in self._places:
            self._open(place)

    def close(self) -> None:
        """End all actors."""
        for place in self._places:
            with contextlib.suppress(Exception):
                self._ray.kill(place.handle)

    def carry_out(
        self, kind: str, tasks: Sequence[ActorTask], shared: Any, *, repeats_slow: bool = True
    ) -> Iterator[Done]:
        """Yield the answer to each task once, as they arrive; `shared` was stored.

        Tasks may be appended meanwhile. With `repeats_slow` an idle actor repeats what takes long.
        """
        self._generation += 1
        yield from _Round(self, kind, tasks, shared, repeats_slow=repeats_slow).run()

    def _build_place(self) -> _Place:
        self._made += 1
        handle: Any = self._remote.options(num_cpus=1, max_restarts=0).remote(self._maker)
        return _Place(handle, self._made, handle.is_up.remote())

    def _open(self, place: _Place) -> None:
        if self._opening is not None:
            place.opening = place.handle.answer.remote(*self._opening)

    def _count_failed(self, error: Exception | None) -> None:
        """Stop the run if actors end again and again before they can answer."""
        self._failed += error is not None
        if self._failed > len(self._places) + _MOST_LOSSES:
            raise RunError(
                "the cluster's actors end before they can answer; check that the same version of"
                f" Tacit is installed on every node, and its memory (Ray says: {str(error)[:300]})"
            )

    def _replace(self, place: _Place) -> None:
        """Start another actor in the place of one that was lost, on any node with a free core."""
        with contextlib.suppress(Exception):
            self._ray.kill(place.handle)
        made = self._build_place()
        place.handle, place.actor, place.starting = made.handle, made.actor, made.starting
        place.calls = {}
        self._open(place)


class _Round:
    """The tasks of one call of `carry_out`."""

    def __init__(
        self,
        crew: Crew,
        kind: str,
        tasks: Sequence[ActorTask],
        shared: Any,
        *,
        repeats_slow: bool,
    ) -> None:
        self.crew, self.kind, self.tasks, self.shared = crew, kind, tasks, shared
        self.repeats_slow = repeats_slow
        self.queues = [deque[int]() for _ in crew._places]
        self.left, self.losses = set[int](), list[int]()
        self.seconds = list[float]()
        self.alive = time.monotonic()

    def run(self) -> Iterator[Done]:
        """Give tasks to actors and yield answers until none is left."""
        ray = self.crew._ray
        self._take_new()
        while self.left:
            self._give()
            refs = [
                ref
                for place in self.crew._places
                for ref in (place.starting, place.opening, *place.calls)
                if ref
            ]
            ready, _ = ray.wait(refs, num_returns=1, timeout=0.5)
            for ref in ready:
                done = self._take(ref)
                if done is not None:
                    yield done
            if ready:
                self.alive = time.monotonic()
                self._take_new()
            elif any(place.starting is None for place in self.crew._places):
                self.alive = time.monotonic()
            else:
                self._wait_for_actors()

    def _wait_for_actors(self) -> None:
        """Raise RunError if no actor has started for a long time."""
        if time.monotonic() - self.alive > _PATIENCE:
            raise RunError(
                f"the cluster has had no actor for {_PATIENCE:g} seconds; nothing is lost: start its"
                " nodes again and resume the run"
            )

    def _take_new(self) -> None:
        """Queue tasks that were appended."""
        for number in range(len(self.losses), len(self.tasks)):
            self.queues[self.tasks[number].preferred % len(self.queues)].append(number)
            self.left.add(number)
            self.losses.append(0)

    def _give(self) -> None:
        for number, place in enumerate(self.crew._places):
            while place.opening is None and len(place.calls) < _AT_ONCE:
                task = self._choose(number, place)
                if task is None:
                    break
                packet = _raw(self.tasks[task].build(place.actor))
                ref = place.handle.answer.remote(self.kind, packet, self.shared)
                place.calls[ref] = (self.crew._generation, task, time.monotonic())

    def _choose(self, number: int, place: _Place) -> int | None:
        """The next task of an actor: its own, one of the longest queue, or one that takes long."""
        longest = max(self.queues, key=len)
        if self.queues[number]:
            return self.queues[number].popleft()
        if place.calls:
            return None
        if longest:
            return longest.pop()
        return self._find_slow() if self.repeats_slow else None

    def _find_slow(self) -> int | None:
        usual = sorted(self.seconds)[len(self.seconds) // 2] if self.seconds else 0.0
        limit = max(_LEAST_WAIT, _SLOWER * usual)
        given: dict[int, list[float]] = {}
        for place in self.crew._places:
            for generation, task, begun in place.calls.values():
                if generation == self.crew._generation and task in self.left:
                    given.setdefault(task, []).append(begun)
        slow = [
            (begun[0], task)
            for task, begun in given.items()
            if len(begun) == 1 and time.monotonic() - begun[0] > limit
        ]
        return min(slow)[1] if slow else None

    def _take(self, ref: Any) -> Done | None:
        """The answer in a finished call, if it is the first to its task."""
        place = next(
            one
            for one in self.crew._places
            if ref is one.starting or ref is one.opening or ref in one.calls
        )
        is_opening = ref is place.opening or ref is place.starting
        try:
            outcome: Outcome = self.crew._ray.get(ref)
        except self.crew._ray.exceptions.RayTaskError:
            raise
        except self.crew._ray.exceptions.RayError as error:
            self.crew._count_failed(error if is_opening else None)
            self._lose(place)
            return None
        if ref is place.starting:
            place.starting = None
            return None
        if is_opening:
            place.opening, self.crew._failed = None, 0
        generation, task, begun = (0, -1, 0.0) if is_opening else place.calls.pop(ref)
        name, body, blobs = outcome
        if name:
            raise _build_error(name, body.decode())
        if generation != self.crew._generation or task not in self.left:
            return None
        self.left.discard(task)
        self.seconds.append(time.monotonic() - begun)
        return Done(task, place.actor, Packet(body, blobs))

    def _lose(self, place: _Place) -> None:
        """Replace a lost actor, and let others repeat its tasks."""
        number = self.crew._places.index(place)
        elsewhere = {
            task
            for one in self.crew._places
            if one is not place
            for generation, task, _ in one.calls.values()
            if generation == self.crew._generation
        }
        for position, (generation, task, _) in enumerate(place.calls.values()):
            if generation != self.crew._generation or task not in self.left:
                continue
            self.losses[task] += position == 0  # the first one is what the actor worked on
            if self.losses[task] >= _MOST_LOSSES:
                raise RunError(
                    f"{_MOST_LOSSES} actors of the cluster ended at the same clients: they were"
                    " killed, or a node ran out of memory; nothing is lost, so resume the run, with"
                    " fewer cores per node if memory is short"
                )
            if task not in elsewhere:
                self.queues[number].appendleft(task)
        self.crew._replace(place)


def _raw(packet: Packet) -> Raw:
    return packet.body, list(packet.blobs)


def _build_error(name: str, message: str) -> TacitError:
    """The error that an actor answered with."""
    kind = getattr(errors, name, RunError)
    try:
        made: TacitError = kind(message)
    except TypeError:
        return RunError(message)
    return made
