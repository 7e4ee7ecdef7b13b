"""How many clients it takes to reach a level at an epsilon, read off a sweep over both."""

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
    """A level of the leading metric, and the clients it takes by epsilon."""

    level: float
    points: list[Point]


def find_clients_needed(sweep: Sweep, unit: str) -> list[ClientsNeeded]:
    """Return for some levels how many clients reach them at each epsilon per unit, between those
    that were tried.

    Levels are whole hundredths that are reached at two epsilons at least. Between two numbers of
    clients the metric is taken to go straight in their logarithm. Edge cases: where the fewest
    tried reach a level already, or no number does, there is no point; nor is there anything to read
    off where the metric is a loss, or other settings were varied too.
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
    found = [ClientsNeeded(step * _STEP, _reached(courses, step * _STEP)) for step in steps]
    return _spread([one for one in found if len(one.points) > 1])


def _courses(sweep: Sweep, unit: str) -> dict[float, list[Point]]:
    """Return by epsilon how good the metric is with each number of clients, rising."""
    courses: dict[float, list[Point]] = {}
    for one in sweep.tried:
        total, mean = one.total(unit), one.metric(sweep.leading)
        if total is not None and total.epsilon is not None and mean is not None:
            courses.setdefault(round(total.epsilon, 9), []).append(
                (float(one.settings[KEY]), mean.value)
            )
    return {epsilon: sorted(course) for epsilon, course in sorted(courses.items())}


def _reached(courses: dict[float, list[Point]], level: float) -> list[Point]:
    return [
        (epsilon, clients)
        for epsilon, course in courses.items()
        if (clients := _first(course, level)) is not None
    ]


def _first(course: Sequence[Point], level: float) -> float | None:
    """Return the fewest clients with which a level is reached; None if that is not between two
    numbers that were tried.
    """
    for (fewer, below), (more, above) in pairwise(course):
        if below < level <= above:
            share = (level - below) / (above - below)
            return math.exp((1 - share) * math.log(fewer) + share * math.log(more))
        if below >= level:
            break
    return None


def _spread(found: list[ClientsNeeded]) -> list[ClientsNeeded]:
    """Return a few of many levels, evenly apart, with the first and the last."""
    if len(found) <= _MOST_LEVELS:
        return found
    places = [round(n * (len(found) - 1) / (_MOST_LEVELS - 1)) for n in range(_MOST_LEVELS)]
    return [found[place] for place in places]
