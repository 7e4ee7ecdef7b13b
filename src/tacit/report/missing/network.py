"""What the simulated network of a plan did to a run: time per round, and missing responses."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import Any

from tacit.report import phrasing
from tacit.runs.record import RUN, Entry, NetworkTimes, select_entries


@dataclass(frozen=True, kw_only=True)
class NetworkFigures:
    """Virtual seconds of all rounds so far, of the median round and of the slowest, and responses by
    what happened to them.
    """

    rounds: int
    seconds: float
    median_round: float
    slowest_round: float
    asked: int
    unreachable: int
    dropped: int
    late: int

    @property
    def counted(self) -> int:
        """Responses that the server used."""
        return self.asked - self.unreachable - self.dropped - self.late

    @property
    def sentence(self) -> str:
        """Time and missing responses in a sentence."""
        total, each = (
            phrasing.format_duration(self.seconds),
            phrasing.format_duration(self.median_round),
        )
        rounds = f"{self.rounds:,} round{'s' if self.rounds != 1 else ''}"
        causes = {
            "unreachable": self.unreachable,
            "never responded": self.dropped,
            "too late": self.late,
        }
        missing = ", ".join(
            f"{name} {count / self.asked:.1%}" for name, count in causes.items() if count
        )
        left_out = f"; responses missing: {missing}" if missing else "; no response was missing"
        return (
            f"Over the simulated network {rounds} take {total}, the median round {each}{left_out}."
        )

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "seconds": self.seconds,
            "median_round_seconds": self.median_round,
            "slowest_round_seconds": self.slowest_round,
            "asked": self.asked,
            "counted": self.counted,
            "unreachable": self.unreachable,
            "dropped": self.dropped,
            "late": self.late,
        }


def summarise_network(entries: list[Entry], arm: str = RUN) -> NetworkFigures | None:
    """Add up an arm's times over the simulated network; None without one."""
    times = select_entries(entries, NetworkTimes, arm)
    if not times:
        return None
    by_round = defaultdict[int, float](float)
    for one in times:
        by_round[one.round_no] += one.seconds
    rounds = list(by_round.values())
    return NetworkFigures(
        rounds=len(rounds),
        seconds=round(sum(rounds), 3),
        median_round=round(median(rounds), 3),
        slowest_round=round(max(rounds), 3),
        asked=sum(one.asked for one in times),
        unreachable=sum(one.unreachable for one in times),
        dropped=sum(one.dropped for one in times),
        late=sum(one.late for one in times),
    )
