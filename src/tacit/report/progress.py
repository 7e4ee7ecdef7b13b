"""Progress of each arm of a run, computed from the entries of its record as they arrive."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tacit.privacy.claim import Total
from tacit.privacy.statement import prose
from tacit.report import phrasing
from tacit.runs.record import Entry, Finished, Prepared, Round, Spent, Started

RECENT_ROUNDS = 5
"""Number of last rounds from which the remaining time is estimated."""


@dataclass
class ArmProgress:
    """Progress of one arm. `fraction_of_round` is the share of the cohort that has trained in the
    current round.
    """

    name: str
    title: str
    rounds: int = 0
    round_no: int = 0
    fraction_of_round: float = 0.0
    metrics: dict[str, float] = field(default_factory=dict)
    bytes_up: float | None = None
    totals: list[Total] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    clients_per_second: float | None = None
    finished: bool = False
    since: float = field(default_factory=time.monotonic)

    @property
    def fraction(self) -> float:
        """Finished share of the arm, from 0 to 1."""
        if self.finished:
            return 1.0
        return (
            min(1.0, (self.round_no + self.fraction_of_round) / self.rounds) if self.rounds else 0.0
        )

    @property
    def seconds_left(self) -> float | None:
        """Remaining time if rounds take as long as the most recent ones."""
        recent = self.seconds[-RECENT_ROUNDS:]
        if not recent or not self.rounds:
            return None
        return (
            max(0.0, self.rounds - self.round_no - self.fraction_of_round)
            * sum(recent)
            / len(recent)
        )

    def facts(self, leading: str | None = None) -> list[str]:
        """Metric, bytes, epsilon and speed, each with its unit."""
        names = [name for name in (leading, "accuracy", "auc", "loss") if name in self.metrics]
        found = [
            f"{phrasing.METRICS[name]} {phrasing.format_metric(name, self.metrics[name])}"
            for name in names[:1]
            if name
        ]
        if self.bytes_up:
            found.append(f"{phrasing.format_size(self.bytes_up)} up per client")
        stated = [prose.format_total(total) for total in self.totals if total.epsilon is not None]
        if stated:
            found.append("epsilon " + ", ".join(stated[:2]))
        if self.clients_per_second:
            found.append(f"{self.clients_per_second:,.0f} clients/s")
        return found


class RunProgress:
    """Progress of all arms of a run, in the order in which they began.

    `rounds` is the plan's number; `leading` is the metric to show first, known once the data is
    prepared.
    """

    def __init__(self) -> None:
        self.arms: dict[str, ArmProgress] = {}
        self.rounds = 0
        self.leading: str | None = None
        self.prepared = False

    def arm(self, name: str) -> ArmProgress:
        """Progress of an arm, created if it is new."""
        return self.arms.setdefault(name, ArmProgress(name=name, title=phrasing.name_arm(name)))

    def add_entry(self, entry: Entry) -> None:
        """Update from one entry of the record."""
        if isinstance(entry, Started):
            self.rounds = int(entry.plan.get("server", {}).get("rounds", 0))
        elif isinstance(entry, Prepared):
            self.prepared, self.leading = True, "auc" if len(entry.classes) == 2 else "accuracy"
        elif isinstance(entry, Round):
            self._round(self.arm(entry.arm), entry)
        elif isinstance(entry, Spent):
            self.arm(entry.arm).totals = [Total(**total) for total in entry.totals]
        elif isinstance(entry, Finished):
            progress = self.arm(entry.arm)
            progress.finished, progress.round_no, progress.fraction_of_round = (
                True,
                entry.rounds,
                0.0,
            )
            progress.metrics = dict(entry.metrics) or progress.metrics

    def add_clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Update from the number of clients that have trained in a round."""
        progress = self.arm(arm)
        progress.rounds = progress.rounds or self.rounds
        if done == 0 or progress.fraction_of_round == 0.0:
            progress.since = time.monotonic()
        progress.round_no, progress.fraction_of_round = round_no - 1, done / total if total else 0.0
        elapsed = time.monotonic() - progress.since
        if progress.clients_per_second is None and elapsed > 1:
            progress.clients_per_second = done / elapsed

    def _round(self, progress: ArmProgress, entry: Round) -> None:
        progress.rounds, progress.round_no, progress.fraction_of_round = (
            entry.rounds,
            entry.round_no,
            0.0,
        )
        progress.metrics = {**progress.metrics, **entry.metrics}
        progress.seconds.append(entry.seconds)
        if entry.cohort:
            progress.bytes_up = entry.bytes_up / entry.cohort
        if entry.cohort > 1 and entry.seconds > 0:
            progress.clients_per_second = entry.cohort / entry.seconds
