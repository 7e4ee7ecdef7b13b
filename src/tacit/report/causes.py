"""Causes of the gap between a run and central training: each part is the distance between two arms
that differ in one thing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from tacit.report.figures import ArmFigures, Summary
from tacit.runs.record import RUN

Cause = Literal["noise", "features", "division", "settings"]
_RISING, _FALLING = 0.005, 0.03
_ENOUGH_FOR_QUARTERS = 8
_SKEWED = 0.2
_WORSE_THAN_GUESSING = 1.1


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Distance of a run below a reference arm, and the part that each cause explains; None where an
    arm is missing.

    `noise`: the run against itself without noise. `features`: central training with the plan's
    features against all features. `division`: FedAvg against central training. `settings`: the run
    without noise against FedAvg with settings of its own.
    """

    reference: ArmFigures
    size: float
    parts: dict[Cause, float | None]

    @property
    def cause(self) -> Cause | None:
        """The largest part, unless a missing part could be larger."""
        known = {name: part for name, part in self.parts.items() if part is not None}
        if not known:
            return None
        largest = max(known, key=lambda name: known[name])
        rest = self.size - sum(max(0.0, part) for part in known.values())
        return largest if known[largest] > (rest if len(known) < len(self.parts) else 0.0) else None


def has_own_baselines(plan: dict[str, Any]) -> bool:
    """Whether the baselines of a recorded plan have settings of their own."""
    asked, preset = plan.get("baseline_settings"), (plan.get("privacy") or {}).get("preset")
    return asked == "own" or (
        asked is None
        and preset in ("private", "no_trust")
        and plan.get("model", {}).get("name", "logistic") == "logistic"
    )


def has_noise(plan: dict[str, Any]) -> bool:
    """Whether a recorded plan's codec changes the updates that clients send."""
    return bool(plan.get("codec", {}).get("name", "rr") != "plain")


def find_arm_without_noise(run: Summary) -> ArmFigures | None:
    """Find the arm with the plan's own settings and no noise: the run itself if its codec is plain."""
    if not has_noise(run.plan):
        return run.arm(RUN)
    found = _find_finished(run, "noiseless")
    return found or (None if has_own_baselines(run.plan) else _find_finished(run, "fedavg"))


def measure_gap(run: Summary) -> Gap | None:
    """Measure how far a run is below central training, else below FedAvg, and why; None without
    either.
    """
    ours = run.arm(RUN)
    reference = _find_finished(run, "central") or _find_finished(run, "fedavg")
    if ours is None or reference is None:
        return None
    own, quiet = has_own_baselines(run.plan), find_arm_without_noise(run)
    size = _figure(run, reference) - _figure(run, ours)
    noise = _figure(run, quiet) - _figure(run, ours) if quiet else None
    features = _features_part(run) if own else 0.0
    division = _division_part(run, quiet)
    settings = (
        None
        if noise is None or features is None or division is None
        else size - noise - features - division
    )
    return Gap(
        reference=reference,
        size=size,
        parts={"noise": noise, "features": features, "division": division, "settings": settings},
    )


def _features_part(run: Summary) -> float | None:
    everything, same = _find_finished(run, "central"), _find_finished(run, "same_features")
    return max(0.0, _figure(run, everything) - _figure(run, same)) if everything and same else None


def _division_part(run: Summary, quiet: ArmFigures | None) -> float | None:
    """Loss due to the division into clients: the better of FedAvg and the run without noise,
    against central training.
    """
    central, fedavg = _find_finished(run, "central"), _find_finished(run, "fedavg")
    if central is None:
        return 0.0
    if fedavg is None:
        return None
    return max(
        0.0, _figure(run, central) - max(_figure(run, arm) for arm in (fedavg, quiet) if arm)
    )


def _find_finished(run: Summary, name: str) -> ArmFigures | None:
    arm = run.arm(name)
    return arm if arm and arm.finished and arm.best(run.leading) is not None else None


def _figure(run: Summary, arm: ArmFigures | None) -> float:
    return (arm.best(run.leading) if arm else None) or 0.0


# How a figure changes over the rounds


def average_quarters(arm: ArmFigures, metric: str) -> list[float]:
    """Mean of a figure in each quarter of the evaluated rounds; the single values if there are few."""
    values = [one.metrics[metric] for one in arm.course if metric in one.metrics]
    if len(values) < _ENOUGH_FOR_QUARTERS:
        return values
    size = len(values) // 4
    return [
        fmean(values[-size * (4 - place) : len(values) - size * (3 - place)]) for place in range(4)
    ]


def is_rising(arm: ArmFigures, metric: str) -> bool:
    """Whether a figure still grew by half a point when training ended."""
    values = average_quarters(arm, metric)
    return len(values) > 1 and not arm.stopped_early and values[-1] - values[-2] >= _RISING


def is_falling(arm: ArmFigures, metric: str) -> bool:
    """Whether a figure ended three points below its own best."""
    values = average_quarters(arm, metric)
    return len(values) > 2 and max(values) - values[-1] >= _FALLING


def has_falling_loss(arm: ArmFigures) -> bool:
    """Whether the loss was lowest, and still falling, when training ended."""
    values = average_quarters(arm, "loss")
    return len(values) > 1 and values[-1] < min(values[:-1])


def compute_guessing_loss(arm: ArmFigures) -> float | None:
    """Loss of a model that predicts the class frequencies for every test row; None if classes were
    not counted.
    """
    rows = arm.by_class.rows if arm.by_class else []
    return (
        sum(-one / sum(rows) * math.log(one / sum(rows)) for one in rows if one)
        if sum(rows)
        else None
    )


def is_never_better_than_guessing(arm: ArmFigures, guess: float) -> bool:
    """Whether the loss exceeded that of guessing by a tenth from the first evaluation on.

    Overfitting begins near the loss of guessing and rises later; a learning rate that is too high
    exceeds it at once.
    """
    values = [one.metrics["loss"] for one in arm.course if "loss" in one.metrics]
    return bool(values) and all(
        one > _WORSE_THAN_GUESSING * guess for one in (values[0], *average_quarters(arm, "loss"))
    )


def drifts_towards_own_labels(run: Summary) -> bool:
    """Whether labels differ between clients and each client takes several local steps per round."""
    local = run.plan.get("local", {})
    steps = max(local.get("epochs") or 1, local.get("steps") or 1) * (local.get("batches") or 1)
    return run.data is not None and run.data.label_skew > _SKEWED and steps > 1


def find_rate_key(plan: dict[str, Any]) -> str:
    """Plan key of the learning rate that determines how far a recorded plan's model moves."""
    server = plan.get("server", {})
    return (
        "local.lr"
        if server.get("optimizer", "sgd") == "sgd" and server.get("lr", 1.0) == 1.0
        else "server.lr"
    )
