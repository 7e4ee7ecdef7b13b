"""A limit on the time that a site works for one request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tacit.errors import PolicyError

Item = TypeVar("Item")


@dataclass
class WorkClock:
    """Stops work on a request after `minutes`, between two items. Its charges remain."""

    minutes: float
    now: Callable[[], float] = time.monotonic
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.now()

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items; raise PolicyError once the time is used up."""
        for item in items:
            spent = (self.now() - self.started) / 60
            if spent > self.minutes:
                raise PolicyError(
                    f"limits.max_minutes_per_round = {self.minutes:g}: the request was stopped"
                    f" after {spent:.3g} minutes"
                )
            yield item
