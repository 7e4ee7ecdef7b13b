"""Figures of a sweep: results of each combination of settings over its seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from tacit.interval import confidence_interval
from tacit.privacy.claim import Total
from tacit.privacy.statement import prose
from tacit.report import phrasing
from tacit.report.figures import ArmFigures, Summary
from tacit.runs.record import RUN

FAILED = "failed"
UNITS = ("run", "update", "bit")
"""Units of an epsilon, in order of preference."""


@dataclass(frozen=True, kw_only=True)
class Mean:
    """Mean over seeds, with the ends of its 95 % confidence interval if there are at least two
    seeds.
    """

    value: float
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Combination:
    """One combination: its settings as typed, finished runs, errors of failed ones, and baselines.

    `failed_baselines` has the errors of failed baselines by name.
    """

    settings: dict[str, str]
    runs: list[Summary]
    failed: list[str] = field(default_factory=list)
    baselines: Mapping[str, list[Summary]] = field(default_factory=dict)
    failed_baselines: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The settings in one line."""
        return (
            ", ".join(f"{key}={value}" for key, value in self.settings.items())
            or "the plan without changes"
        )

    def metric(self, name: str) -> Mean | None:
        """Mean of a metric over the seeds."""
        return _mean(self.runs, name)

    def baseline(self, arm: str, name: str) -> Mean | None:
        """Mean of a baseline's metric over the seeds."""
        return _mean(self.baselines.get(arm, []), name)

    @property
    def bytes_up(self) -> float | None:
        """Bytes that a client sends per round, mean over seeds."""
        sent = [arm.bytes_up for arm in _own(self.runs) if arm.bytes_up is not None]
        return fmean(sent) if sent else None

    @property
    def seconds(self) -> float:
        """Duration of a run, mean over seeds."""
        return fmean(arm.seconds for arm in _own(self.runs)) if self.runs else 0.0

    def total(self, unit: str) -> Total | None:
        """Largest total per unit of any seed; None if a seed has no epsilon."""
        totals = [total for run in self.runs if (total := run.privacy.total(unit)) is not None]
        if not totals or any(total.epsilon is None for total in totals):
            return None
        return max(totals, key=lambda total: total.epsilon or 0.0)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """All combinations of a sweep, in the order in which they were typed."""

    name: str
    keys: list[str]
    seeds: int
    tried: list[Combination]

    @property
    def leading(self) -> str:
        """The metric that leads in the runs."""
        return next((run.leading for one in self.tried for run in one.runs), "accuracy")

    @property
    def varied(self) -> list[str]:
        """The keys that have more than one value."""
        return [key for key in self.keys if len({one.settings[key] for one in self.tried}) > 1]

    @property
    def unit(self) -> str | None:
        """The first unit in which some combination has an epsilon."""
        return next((unit for unit in UNITS if any(one.total(unit) for one in self.tried)), None)

    @property
    def baselines(self) -> list[str]:
        """Baselines that ran or failed."""
        return list(
            dict.fromkeys(
                arm for one in self.tried for arm in (*one.baselines, *one.failed_baselines)
            )
        )

    @property
    def failed(self) -> list[tuple[str, str]]:
        """Combinations with failed runs or baselines, each with its error."""
        own = [
            (one.title, sentence) for one in self.tried for sentence in dict.fromkeys(one.failed)
        ]
        baselines = [
            (f"{phrasing.name_arm(arm)} ({one.title})", sentence)
            for one in self.tried
            for arm, sentences in one.failed_baselines.items()
            for sentence in dict.fromkeys(sentences)
        ]
        return [*own, *baselines]


def list_headings(sweep: Sweep) -> list[str]:
    """Headings of the table: settings, then figures, then baselines."""
    metric = phrasing.METRICS[sweep.leading]
    privacy = "epsilon" if sweep.unit else "privacy per update"
    baselines = [f"{metric}, {phrasing.name_arm(arm)}" for arm in sweep.baselines]
    return [
        *(sweep.keys or ["plan"]),
        "runs",
        metric,
        privacy,
        "up / client / round",
        "time",
        *baselines,
    ]


def list_rows(sweep: Sweep) -> list[tuple[str, ...]]:
    """One row per combination, in the order of the headings."""
    return [_row(sweep, one) for one in sweep.tried]


def _row(sweep: Sweep, one: Combination) -> tuple[str, ...]:
    name = sweep.leading
    asked = len(one.runs) + len(one.failed)
    settings = [one.settings[key] for key in sweep.keys] or [one.title]
    baselines = [_format_baseline(name, one, arm) for arm in sweep.baselines]
    if not one.runs:
        return (*settings, f"0 of {asked}", FAILED, *[phrasing.NONE] * 3, *baselines)
    count = f"{len(one.runs)}" if not one.failed else f"{len(one.runs)} of {asked}"
    return (
        *settings,
        count,
        format_mean(name, one.metric(name)),
        format_privacy(sweep, one),
        phrasing.format_size(one.bytes_up),
        phrasing.format_duration(one.seconds),
        *baselines,
    )


def _format_baseline(name: str, one: Combination, arm: str) -> str:
    mean = one.baseline(arm, name)
    return FAILED if mean is None and one.failed_baselines.get(arm) else format_mean(name, mean)


def format_privacy(sweep: Sweep, one: Combination) -> str:
    """Epsilon in the sweep's privacy unit, otherwise the run's short privacy statement."""
    total = one.total(sweep.unit) if sweep.unit else None
    if total is not None:
        return prose.format_total(total)
    return _own(one.runs)[0].privacy


def format_mean(name: str, mean: Mean | None) -> str:
    """Format a mean with half the width of its interval."""
    if mean is None:
        return phrasing.NONE
    if mean.ends is None:
        return phrasing.format_metric(name, mean.value)
    half = (mean.ends[1] - mean.ends[0]) / 2
    return (
        f"{phrasing.format_metric(name, mean.value)} ±"
        f" {f'{100 * half:.1f}' if name == 'accuracy' else f'{half:.3f}'}"
    )


def sweep_to_json(sweep: Sweep) -> dict[str, Any]:
    """Convert a sweep to one JSON object."""
    return {
        "sweep": sweep.name,
        "over": sweep.keys,
        "seeds": sweep.seeds,
        "metric": sweep.leading,
        "points": [_point(sweep, one) for one in sweep.tried],
    }


def _point(sweep: Sweep, one: Combination) -> dict[str, Any]:
    name = sweep.leading
    totals = {unit: total for unit in UNITS if (total := one.total(unit)) is not None}
    return {
        "settings": one.settings,
        "runs": [run.name for run in one.runs],
        "failed": one.failed,
        "failed_baselines": {
            arm: sentences for arm, sentences in one.failed_baselines.items() if sentences
        },
        "metrics": {
            key: _json(mean) for key in phrasing.METRICS if (mean := one.metric(key)) is not None
        },
        "epsilon": {
            unit: {"epsilon": total.epsilon, "delta": total.delta} for unit, total in totals.items()
        },
        "relation": sorted({relation for run in one.runs for relation in run.privacy.relations}),
        "trust": sorted({word for run in one.runs for word in run.privacy.trust}),
        "bytes_up": one.bytes_up,
        "seconds": one.seconds,
        "baselines": {
            arm: _json(mean)
            for arm in sweep.baselines
            if (mean := one.baseline(arm, name)) is not None
        },
    }


def _json(mean: Mean) -> dict[str, Any]:
    return {
        "mean": mean.value,
        **({"low": mean.ends[0], "high": mean.ends[1]} if mean.ends else {}),
    }


def _own(runs: list[Summary]) -> list[ArmFigures]:
    return [arm for run in runs if (arm := run.arm(RUN)) is not None]


def _mean(runs: list[Summary], name: str) -> Mean | None:
    values = [arm.metrics[name] for arm in _own(runs) if name in arm.metrics]
    return Mean(value=fmean(values), ends=confidence_interval(values)) if values else None
