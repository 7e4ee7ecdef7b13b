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
    """Stops work that takes more than `minutes`, between two items. What was charged for it stays
    charged.
    """

    minutes: float
    now: Callable[[], float] = time.monotonic
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.now()

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items while there is time; raise PolicyError once there is none."""
        for item in items:
            spent = (self.now() - self.started) / 60
            if spent > self.minutes:
                raise PolicyError(
                    f"limits.max_minutes_per_round = {self.minutes:g}: this request took"
                    f" {spent:.3g} minutes and was stopped"
                )
            yield item
