"""Many plans from one: every combination of some settings with every seed, all of them checked
before anything runs.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import PlanError
from tacit.plan import toml
from tacit.plan.load import beside, parse, to_toml
from tacit.plan.plan import Plan

MOST_PLANS = 1_000
"""More than this is a mistake more often than a wish."""

_VALUE = re.compile(r"""(?:\[[^\]]*\]|"[^"]*"|'[^']*'|[^,])+""")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One combination: the settings as they were typed, and the plan it makes with each seed."""

    settings: dict[str, str]
    plans: tuple[Plan, ...]

    @property
    def title(self) -> str:
        """The settings in one line."""
        return said(self.settings)


def grid(
    path: Path, over: Sequence[str], seeds: Sequence[int] = (), overrides: Sequence[str] = ()
) -> list[Point]:
    """Return every combination of the values in `over` (`table.key=value,value`), in the order of
    typing.

    Without seeds the plan's own is used. Raise one PlanError that names every combination that is
    refused: then nothing is to be started, since a hole in a grid is best seen before hours are
    spent on the rest.
    """
    axes = _axes(over)
    combinations = [
        dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
    ]
    count = len(combinations) * max(1, len(seeds))
    if count > MOST_PLANS:
        raise PlanError(
            f"--over: needs at most {MOST_PLANS:,} runs, got {count:,}; give fewer values or seeds"
        )
    if len(set(seeds)) < len(seeds):
        raise PlanError(
            f"--seeds {','.join(map(str, seeds))}: needs seeds that differ; each counts once"
        )
    tree = toml.read(path)
    for setting in overrides:
        toml.override(tree, setting)
    points, refused = list[Point](), dict[str, list[str]]()
    for settings in combinations:
        try:
            points.append(
                Point(
                    settings=settings,
                    plans=tuple(beside(path, one) for one in _plans(tree, settings, seeds)),
                )
            )
        except PlanError as error:
            for problem in str(error).splitlines()[1:] or [str(error)]:
                refused.setdefault(problem.strip(), []).append(said(settings))
    if refused:
        raise _refusal(path, refused, len(combinations))
    _check_distinct(points)
    return points


def said(settings: dict[str, str]) -> str:
    """Return settings in one line."""
    return ", ".join(f"{key}={value}" for key, value in settings.items()) or "the plan as it is"


def _axes(over: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each key; commas within brackets or quotes belong to a value."""
    found: dict[str, list[str]] = {}
    for one in over:
        key, equals, text = (part.strip() for part in one.partition("="))
        values = [value.strip() for value in _VALUE.findall(text)]
        if not key or not equals or not any(values) or not all(values):
            raise PlanError(
                f"--over {one[:200]}: needs the form table.key=value,value, for example --over"
                " privacy.epsilon=1,2,8"
            )
        if key == "seed":
            raise PlanError(
                f"--over {one[:200]}: seeds are no setting to compare; --seeds {text[:100]} gives"
                " their mean"
            )
        if key in found:
            raise PlanError(
                f"--over {key}: is given twice; put all its values into one, --over"
                f" {key}=value,value"
            )
        found[key] = values
    return found


def _plans(
    tree: dict[str, object], settings: dict[str, str], seeds: Sequence[int]
) -> tuple[Plan, ...]:
    changed = copy.deepcopy(tree)
    for key, value in settings.items():
        toml.override(changed, f"{key}={value}")
    return tuple(parse({**changed, "seed": seed}) for seed in seeds) or (parse(changed),)


def _refusal(path: Path, refused: dict[str, list[str]], count: int) -> PlanError:
    """Return the refusal of a grid: each problem once, with the combinations that have it."""
    having = {title for titles in refused.values() for title in titles}
    head = (
        f"{path}: {len(having)} of {count} combinations cannot run, so nothing was started; change"
        " or leave out these values"
    )
    lines = [
        (
            f"  {problem}"
            if len(set(titles)) == count
            else f"  {problem} ({'; '.join(dict.fromkeys(titles))})"
        )
        for problem, titles in refused.items()
    ]
    return PlanError("\n".join([head, *lines]))


def _check_distinct(points: list[Point]) -> None:
    seen: dict[str, str] = {}
    for point in points:
        text = to_toml(point.plans[0])
        if text in seen:
            raise PlanError(
                f"--over: {seen[text]} and {point.title} are the same plan; give each value once"
            )
        seen[text] = point.title
