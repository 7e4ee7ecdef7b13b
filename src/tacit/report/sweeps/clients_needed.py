"""Number of clients needed to reach a level at an epsilon, interpolated from a sweep over both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tacit.report.sweeps.figures import Sweep

KEY = "data.clients"
_STEP = 0.01
_MOST_LEVELS = 5

Point = tuple[float, float]


class ClientsNeeded(NamedTuple):
    """A level of the leading metric, and the clients needed for it by epsilon."""

    level: float
    points: list[Point]


def find_clients_needed(sweep: Sweep, unit: str) -> list[ClientsNeeded]:
    """Interpolate how many clients reach some levels at each epsilon per unit.

    Levels are multiples of 0.01 that are reached at two or more epsilons. The metric is
    interpolated linearly in the logarithm of the number of clients. There is no point where the
    smallest number of clients already reaches a level, or none does. The result is empty if the
    metric is a loss, or if other settings vary too.
    """
    if (
        sweep.leading == "loss"
        or KEY not in sweep.varied
        or any(key != KEY and not key.endswith("epsilon") for key in sweep.varied)
    ):
        return []
    courses = _courses(sweep, unit)
    values = [value for course in courses.values() for _, value in course]
    if not values:
        return []
    steps = range(math.ceil(min(values) / _STEP), math.floor(max(values) / _STEP) + 1)
    found = [ClientsNeeded(step * _STEP, _interpolate_all(courses, step * _STEP)) for step in steps]
    return _select_levels([one for one in found if len(one.points) > 1])


def _courses(sweep: Sweep, unit: str) -> dict[float, list[Point]]:
    """Metric by number of clients (ascending), for each epsilon."""
    courses: dict[float, list[Point]] = {}
    for one in sweep.tried:
        total, mean = one.total(unit), one.metric(sweep.leading)
        if total is not None and total.epsilon is not None and mean is not None:
            courses.setdefault(round(total.epsilon, 9), []).append(
                (float(one.settings[KEY]), mean.value)
            )
    return {epsilon: sorted(course) for epsilon, course in sorted(courses.items())}


def _interpolate_all(courses: dict[float, list[Point]], level: float) -> list[Point]:
    return [
        (epsilon, clients)
        for epsilon, course in courses.items()
        if (clients := _interpolate(course, level)) is not None
    ]


def _interpolate(course: Sequence[Point], level: float) -> float | None:
    """Interpolate the smallest number of clients that reaches a level; None outside the sweep's
    numbers.
    """
    for (fewer, below), (more, above) in pairwise(course):
        if below < level <= above:
            share = (level - below) / (above - below)
            return math.exp((1 - share) * math.log(fewer) + share * math.log(more))
        if below >= level:
            break
    return None


def _select_levels(found: list[ClientsNeeded]) -> list[ClientsNeeded]:
    """Select a few levels at equal distances, including the first and the last."""
    if len(found) <= _MOST_LEVELS:
        return found
    places = [round(n * (len(found) - 1) / (_MOST_LEVELS - 1)) for n in range(_MOST_LEVELS)]
    return [found[place] for place in places]
