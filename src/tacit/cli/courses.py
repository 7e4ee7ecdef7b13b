"""What is known of each arm while it trains, gathered from what the engine reports."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tacit.record import Entry, Finished, Round, Spent
from tacit.report import phrasing

LATELY = 5
"""Rounds over which speed is averaged."""


@dataclass
class Course:
    """One arm on its way."""

    name: str
    title: str
    rounds: int = 0
    round_no: int = 0
    share: float = 0.0
    metrics: dict[str, float] = field(default_factory=dict)
    bytes_up: float | None = None
    totals: dict[str, float | None] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    clients_per_second: float | None = None
    finished: bool = False
    since: float = field(default_factory=time.monotonic)

    @property
    def fraction(self) -> float:
        """How much of the arm is done, from 0 to 1."""
        if self.finished:
            return 1.0
        return min(1.0, (self.round_no + self.share) / self.rounds) if self.rounds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long the remaining rounds take if they go on as lately."""
        lately = self.seconds[-LATELY:]
        if not lately or not self.rounds:
            return None
        return max(0.0, self.rounds - self.round_no - self.share) * sum(lately) / len(lately)

    def facts(self, leading: str | None = None) -> list[str]:
        """Return what there is to say, each with its unit."""
        names = [name for name in (leading, "accuracy", "auc", "loss") if name in self.metrics]
        found = [f"{phrasing.METRICS[name]} {phrasing.metric(name, self.metrics[name])}" for name in names[:1] if name]
        if self.bytes_up:
            found.append(f"{phrasing.size(self.bytes_up)} up per client")
        stated = [(value, unit) for unit, value in self.totals.items() if value is not None and "(" not in unit]
        if stated:
            found.append("epsilon " + ", ".join(f"{phrasing.bound(value)} {phrasing.per(unit)}" for value, unit in stated[:2]))
        if self.clients_per_second:
            found.append(f"{self.clients_per_second:,.0f} clients/s")
        return found


class Courses:
    """All arms of a run, in the order in which they began."""

    def __init__(self) -> None:
        self.of: dict[str, Course] = {}

    def course(self, arm: str) -> Course:
        """Return an arm's course, begun now if it is new."""
        return self.of.setdefault(arm, Course(name=arm, title=phrasing.arm_title(arm)))

    def entry(self, entry: Entry) -> None:
        """Take in one entry of the record."""
        if isinstance(entry, Round):
            self._round(self.course(entry.arm), entry)
        elif isinstance(entry, Spent):
            self.course(entry.arm).totals = dict(entry.totals)
        elif isinstance(entry, Finished):
            course = self.course(entry.arm)
            course.finished, course.round_no, course.share = True, entry.rounds, 0.0
            course.metrics = dict(entry.metrics) or course.metrics

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Take in how many clients of a round have trained."""
        course = self.course(arm)
        if done == 0 or course.share == 0.0:
            course.since = time.monotonic()
        course.round_no, course.share = round_no - 1, done / total if total else 0.0
        elapsed = time.monotonic() - course.since
        if course.clients_per_second is None and elapsed > 1:
            course.clients_per_second = done / elapsed

    def _round(self, course: Course, entry: Round) -> None:
        course.rounds, course.round_no, course.share = entry.rounds, entry.round_no, 0.0
        course.metrics = {**course.metrics, **entry.metrics}
        course.seconds.append(entry.seconds)
        if entry.cohort:
            course.bytes_up = entry.bytes_up / entry.cohort
        if entry.cohort > 1 and entry.seconds > 0:
            course.clients_per_second = entry.cohort / entry.seconds
