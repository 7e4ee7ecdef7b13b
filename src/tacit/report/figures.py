"""Figures of a run, computed from its record in one place, so that terminal, page and notebook
agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tacit.report import phrasing
from tacit.report.missing.network import NetworkFigures, summarise_network
from tacit.report.missing.sites import Absences, summarise_absences
from tacit.report.privacy import PrivacyFigures, summarise_privacy, write_headline
from tacit.report.queries.answers import select_answers
from tacit.report.votes import VoteFigures, summarise_votes
from tacit.runs.record import (
    RUN,
    Abandoned,
    Audited,
    ByClass,
    Corrupted,
    DisclosedRows,
    Entry,
    Finished,
    Prepared,
    Refused,
    Round,
    Spread,
    Started,
    Stored,
    Voted,
    WarmStarted,
    select_entries,
)


@dataclass(frozen=True, kw_only=True)
class ArmFigures:
    """Figures of one arm: the run itself or a baseline. Bytes are per client and round."""

    name: str
    rounds: int
    planned: int
    metrics: dict[str, float]
    bytes_up: int | None
    bytes_down: int | None
    seconds: float
    finished: bool
    stopped_early: bool
    parameters_sha256: str
    privacy: str
    course: list[Round]
    spread: list[float]
    by_class: ByClass | None = None

    @property
    def title(self) -> str:
        """Display name of the arm."""
        return phrasing.name_arm(self.name)

    @property
    def kept_round(self) -> int | None:
        """The epoch that was chosen on validation rows, if one was."""
        return int(self.metrics["kept_round"]) if "kept_round" in self.metrics else None

    def best(self, metric: str) -> float | None:
        """A metric of the arm; where an epoch was chosen on validation rows, the better of that
        epoch and the last one.
        """
        found = [self.metrics[name] for name in (metric, f"last_{metric}") if name in self.metrics]
        return (min(found) if metric == "loss" else max(found)) if found else None


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All figures of a run that are shown anywhere."""

    name: str
    arms: list[ArmFigures]
    privacy: PrivacyFigures
    data: Prepared | None
    plan: dict[str, Any]
    versions: dict[str, str]
    shared: DisclosedRows | None = None
    warm: WarmStarted | None = None
    corrupted: Corrupted | None = None
    votes: VoteFigures | None = None
    refused: int = 0
    absences: Absences = field(default_factory=Absences)
    network: NetworkFigures | None = None
    audits: tuple[Audited, ...] = ()
    answers: tuple[dict[str, Any], ...] = ()
    running: bool = False
    abandoned: bool = False
    model_sha256: str = ""
    """SHA-256 of model.safetensors, the one `sha256sum` prints; empty until the model is stored."""

    def arm(self, name: str) -> ArmFigures | None:
        """The arm of this name, if it has begun."""
        return next((arm for arm in self.arms if arm.name == name), None)

    @property
    def leading(self) -> str:
        """The metric shown first: AUC for two classes, else accuracy; another one if that was not
        measured.
        """
        run = self.arm(RUN)
        measured = run.metrics if run else {}
        two = self.data is not None and len(self.data.classes) == 2
        order = ("auc", "accuracy", "f1", "loss") if two else ("accuracy", "auc", "f1", "loss")
        return next((name for name in order if name in measured), order[0])

    @property
    def finished(self) -> bool:
        """Whether the run and every baseline of its plan have finished."""
        wanted = [RUN, *self.plan.get("baselines", [])]
        return all((arm := self.arm(name)) is not None and arm.finished for name in wanted)

    @property
    def state(self) -> str:
        """Whether the run is finished, which round it is in, or where it stopped."""
        if self.finished:
            return "finished"
        if not self.arms and self.abandoned:
            return "abandoned before round 1"
        if not self.arms:
            return "running, before round 1" if self.running else "stopped before round 1"
        open_arm = next((arm for arm in self.arms if not arm.finished), None)
        if open_arm is None:
            return (
                "running, before the next baseline"
                if self.running
                else "stopped before the next baseline"
            )
        which = "" if open_arm.name == RUN else f" ({open_arm.title})"
        if self.abandoned:
            return f"abandoned after round {open_arm.rounds} of {open_arm.planned}{which}"
        if self.running:
            return f"running, {open_arm.rounds} of {open_arm.planned} rounds done{which}"
        return f"stopped after round {open_arm.rounds} of {open_arm.planned}{which}"


HEADINGS = (
    "arm",
    "rounds",
    "accuracy",
    "AUC",
    "F1",
    "loss",
    "up / client / round",
    "down / client / round",
    "privacy",
)


def list_cells(arm: ArmFigures) -> tuple[str, ...]:
    """Cells of one arm in the result table, in the order of HEADINGS."""
    rounds = f"{arm.rounds}" if arm.finished else f"{arm.rounds}/{arm.planned}"
    metrics = (phrasing.format_metric(name, arm.metrics.get(name)) for name in phrasing.METRICS)
    if arm.kept_round:
        rounds = f"{arm.kept_round} of {arm.rounds}"
    return (
        arm.title,
        rounds,
        *metrics,
        phrasing.format_size(arm.bytes_up),
        phrasing.format_size(arm.bytes_down),
        arm.privacy,
    )


def summarise(
    entries: Iterable[Entry], name: str | None = None, *, running: bool = False
) -> Summary:
    """Compute the figures of a record; `name` is the run's, the plan's by default.

    `running` says that some process is working on the run right now, which a record alone cannot
    show. A record that is cut short gives the figures up to that line.
    """
    known = list(entries)
    started = select_entries(known, Started)
    plan = started[0].plan if started else {}
    data, corrupted = (
        select_entries(known, Prepared),
        next(iter(select_entries(known, Corrupted)), None),
    )
    votes = select_entries(known, Voted, RUN)
    return Summary(
        name=name or str(plan.get("name", "run")),
        arms=[_arm(known, arm, plan) for arm in _arm_names(known, plan)],
        privacy=summarise_privacy(known),
        data=data[0] if data else None,
        plan=plan,
        versions=started[0].versions if started else {},
        shared=next(iter(select_entries(known, DisclosedRows)), None),
        corrupted=corrupted,
        votes=summarise_votes(votes, corrupted) if votes else None,
        warm=next(iter(select_entries(known, WarmStarted)), None),
        refused=len(select_entries(known, Refused)),
        absences=summarise_absences(known),
        network=summarise_network(known),
        audits=tuple(select_entries(known, Audited)),
        answers=select_answers(known),
        running=running,
        abandoned=bool(select_entries(known, Abandoned)),
        model_sha256=_find_hash(known, "model.safetensors"),
    )


def _find_hash(entries: list[Entry], file: str) -> str:
    """SHA-256 of a file that the run stored, or an empty string."""
    return next(
        (
            stored.sha256[file]
            for stored in reversed(select_entries(entries, Stored))
            if file in stored.sha256
        ),
        "",
    )


def _arm_names(entries: list[Entry], plan: dict[str, Any]) -> list[str]:
    begun = [entry.arm for entry in entries if isinstance(entry, Round | Finished)]
    order = [RUN, *plan.get("baselines", [])]
    return [name for name in dict.fromkeys([*order, *begun]) if name in begun]


def _arm(entries: list[Entry], name: str, plan: dict[str, Any]) -> ArmFigures:
    course = select_entries(entries, Round, name)
    ends = select_entries(entries, Finished, name)
    end = ends[-1] if ends else None
    spreads = select_entries(entries, Spread, name)
    measured = [one.metrics for one in course if one.metrics]
    rounds = end.rounds if end else course[-1].round_no
    return ArmFigures(
        name=name,
        rounds=rounds,
        planned=course[-1].rounds if course else rounds,
        metrics=end.metrics if end else measured[-1] if measured else {},
        bytes_up=end.bytes_up if end else _per_client(course, "bytes_up"),
        bytes_down=end.bytes_down if end else _per_client(course, "bytes_down"),
        seconds=end.seconds if end else sum(one.seconds for one in course),
        finished=end is not None,
        stopped_early=end is not None and end.stopped_early,
        parameters_sha256=end.parameters_sha256 if end else "",
        privacy=write_headline(entries, name, find_regime(plan)),
        course=course,
        spread=spreads[-1].accuracy if spreads else [],
        by_class=next(reversed(select_entries(entries, ByClass, name)), None),
    )


def find_regime(plan: dict[str, Any]) -> str:
    """How a recorded plan trains: "federated", "central" or "local"."""
    return str(plan.get("regime") or plan.get("local", {}).get("method", ""))


def _per_client(course: list[Round], key: str) -> int | None:
    took_part = sum(one.cohort for one in course)
    return round(sum(getattr(one, key) for one in course) / took_part) if took_part else None


def compare_with_plain(run: Summary) -> tuple[float, int] | None:
    """How many times less a client sends than with plain float32, and the plain bytes; None if
    unknown.

    The plain bytes are those measured on an unprotected baseline with as many parameters, else four
    per parameter.
    """
    ours, parameters = run.arm(RUN), run.data.parameters if run.data else 0
    measured = [
        arm.bytes_up for name in ("noiseless", "fedavg") if (arm := run.arm(name)) and arm.bytes_up
    ]
    same_model = (
        size
        for size in measured
        if not parameters or 4 * parameters <= size < 4.2 * parameters + 1000
    )
    plain = next(same_model, 4 * parameters)
    if ours is None or not ours.bytes_up or not plain:
        return None
    return plain / ours.bytes_up, plain
