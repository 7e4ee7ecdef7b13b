"""Pass large arrays between a process and its forked workers through shared memory instead of a
pipe.

A message is pickled without its large arrays, which are written to shared memory. Only the small
rest goes through a queue.
"""

from __future__ import annotations

import mmap
import multiprocessing
import pickle  # noqa: TID251  between a process and its own forks, as multiprocessing itself does; nothing from outside
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_LEAST = 1 << 16
"""Minimum bytes of an array that is written to shared memory."""


class Packed(NamedTuple):
    """A message whose large arrays are in shared memory, at these places."""

    rest: bytes
    places: tuple[slice, ...]


class Memory:
    """Memory shared by a process and all workers forked from it. Allocated before the fork; the
    system frees it when the last process ends.
    """

    def __init__(self, size: int) -> None:
        self._bytes = memoryview(mmap.mmap(-1, max(1, size)))

    def put(self, message: object) -> Packed:
        """Write the message's large arrays over those of the previous message; what does not fit is
        pickled with the rest.
        """
        places: list[slice] = []

        def placed(buffer: pickle.PickleBuffer) -> bool:
            """Whether the array has to be pickled with the rest."""
            begin = places[-1].stop if places else 0
            with buffer.raw() as raw:
                if raw.nbytes < _LEAST or begin + raw.nbytes > len(self._bytes):
                    return True
                places.append(slice(begin, begin + raw.nbytes))
                self._bytes[places[-1]] = raw
            return False

        rest = pickle.dumps(message, protocol=5, buffer_callback=placed)
        return Packed(rest, tuple(places))

    def view(self, packed: Packed) -> Any:
        """The message; its large arrays are read-only and valid until the next `put`."""
        return self._read(packed, memoryview)

    def copy(self, packed: Packed) -> Any:
        """The message with its own copies of the arrays."""
        return self._read(packed, _copy)

    def _read(self, packed: Packed, as_arrays: Callable[[memoryview], Any]) -> Any:
        return pickle.loads(  # noqa: S301
            packed.rest, buffers=[as_arrays(self._bytes[place]) for place in packed.places]
        )


def _copy(place: memoryview) -> NDArray[np.uint8]:
    return np.frombuffer(
        place, np.uint8
    ).copy()  # in large pages where there are some, twice as fast as a bytearray


class Sent(NamedTuple):
    """A result that is in a worker's outbox."""

    outbox: int
    packed: Packed


@dataclass(frozen=True)
class Outbox:
    """Where one worker puts its results, each when the previous one has been taken."""

    number: int
    memory: Memory
    free: Any  # a lock of multiprocessing's, which has no public type

    def put(self, message: object) -> Sent:
        """Put a result once the previous one has been taken; runs in the worker."""
        self.free.acquire()
        return Sent(self.number, self.memory.put(message))

    def take(self, packed: Packed) -> Any:
        """Take the result and free the outbox for the next; runs in the parent."""
        try:
            return self.memory.copy(packed)
        finally:
            self.free.release()


class Outboxes:
    """One outbox per worker, allocated before the fork."""

    def __init__(self, workers: int, size: int) -> None:
        context = multiprocessing.get_context("fork")
        self._each = [Outbox(number, Memory(size), context.Lock()) for number in range(workers)]
        self._given = context.Value("i", 0)

    def mine(self) -> Outbox:
        """An unused outbox; each worker calls this once."""
        with self._given.get_lock():
            number: int = self._given.value
            self._given.value = number + 1
        return self._each[number]

    def taken(self, answer: Future[Sent]) -> Future[Any]:
        """The message of a result as a future; it is taken as soon as it is available."""
        message: Future[Any] = Future()

        def take(done: Future[Sent]) -> None:
            try:
                sent = done.result()
                message.set_result(self._each[sent.outbox].take(sent.packed))
            except BaseException as error:
                message.set_exception(error)

        answer.add_done_callback(take)
        return message
