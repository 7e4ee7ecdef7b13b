"""Wall and CPU seconds of a piece of work, with everything its process started."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Taken:
    """What a piece of work took."""

    wall: float
    cpu: float

    def scaled(self, factor: float) -> Taken:
        """The same for a part or a multiple of the work."""
        return Taken(self.wall * factor, self.cpu * factor)

    def as_dict(self) -> dict[str, float]:
        """The two numbers by name."""
        return asdict(self)


class Stopwatch:
    """Runs from its making. Looking at other processes takes time of its own, which is kept out of
    the figures.
    """

    def __init__(self) -> None:
        self._below = _below()
        self._own, self._wall = time.process_time(), time.perf_counter()

    def taken(self) -> Taken:
        """Return what has been taken so far by this process, its threads and all its descendants,
        ended or alive.

        This process is read to the nanosecond; descendants come in kernel ticks, which is why only
        work that takes much longer than a tick is given to them.
        """
        wall, own = time.perf_counter() - self._wall, time.process_time() - self._own
        return Taken(wall, own + max(0.0, _below() - self._below))


def measure(work: Callable[[], object]) -> Taken:
    """Measure one call."""
    watch = Stopwatch()
    work()
    return watch.taken()


def _below() -> float:
    """CPU seconds of all descendants so far."""
    ended = os.times()
    return (
        ended.children_user
        + ended.children_system
        + sum(map(_ticks, descendants(os.getpid()))) / _TICK
    )


def descendants(root: int) -> list[int]:
    """Process numbers below one process; empty where there is no /proc."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in _PROC.glob("[0-9]*/stat"):
        fields = _stat(entry)
        if fields:
            children[int(fields[1])].append(int(entry.parent.name))
    found, queue = [], [root]
    while queue:
        below = children[queue.pop()]
        found += below
        queue += below
    return found


def _ticks(pid: int) -> int:
    fields = _stat(_PROC / str(pid) / "stat")
    return sum(int(field) for field in fields[11:15]) if fields else 0


def _stat(path: Path) -> list[str]:
    """Fields after the command's name, which may itself hold spaces and brackets."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []  # the process ended while we looked


def peak_bytes() -> int:
    """Largest resident memory this process has had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
