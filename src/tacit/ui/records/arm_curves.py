"""What pages show of one arm: exact totals, and curves that are thinned out."""

from __future__ import annotations

from collections import deque
from typing import Annotated

import msgspec
from msgspec import Meta

from tacit.report.progress import RECENT_ROUNDS
from tacit.runs.record import Round
from tacit.ui.records.series import Series

Count = Annotated[int, Meta(ge=0, le=2**53)]


class RoundLine(msgspec.Struct, frozen=True, gc=False):
    """The line of a finished round."""

    arm: str
    round_no: Count
    rounds: Count
    cohort: Count
    seconds: float
    bytes_up: Count
    bytes_down: Count
    metrics: dict[str, float] = {}

    def to_entry(self) -> Round:
        """The entry of the record."""
        return Round(
            arm=self.arm,
            round_no=self.round_no,
            rounds=self.rounds,
            cohort=self.cohort,
            seconds=self.seconds,
            bytes_up=self.bytes_up,
            bytes_down=self.bytes_down,
            metrics=self.metrics,
        )


class ArmCurves:
    """Rounds of one arm, in order."""

    def __init__(self) -> None:
        self.every: Series[RoundLine] = Series()
        self.evaluated: Series[RoundLine] = Series()
        self.bytes_up = self.bytes_down = self.clients = 0
        self.seconds = 0.0
        self.recent: deque[float] = deque(maxlen=RECENT_ROUNDS)

    def extend(self, lines: list[RoundLine]) -> None:
        """Add finished rounds."""
        self.every.extend(lines)
        self.evaluated.extend([line for line in lines if line.metrics])
        self.bytes_up += sum([line.bytes_up for line in lines])
        self.bytes_down += sum([line.bytes_down for line in lines])
        self.clients += sum([line.cohort for line in lines])
        self.seconds += sum([line.seconds for line in lines])
        self.recent.extend([line.seconds for line in lines[-RECENT_ROUNDS:]])

    @property
    def last(self) -> RoundLine | None:
        """The last finished round."""
        return self.every.last

    @property
    def seconds_left(self) -> float | None:
        """Remaining time if rounds take as long as the most recent ones."""
        if self.last is None or not self.recent:
            return None
        left = max(0, self.last.rounds - self.last.round_no)
        return left * sum(self.recent) / len(self.recent)

    def course(self) -> list[Round]:
        """Thinned out rounds as entries, in order; each that was evaluated is among them."""
        both = {line.round_no: line for line in self.every.points()}
        both |= {line.round_no: line for line in self.evaluated.points()}
        return [both[number].to_entry() for number in sorted(both)]
