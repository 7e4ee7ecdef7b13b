"""Every combination of some settings with every seed, all checked before any run starts."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import PlanError
from tacit.plan import toml
from tacit.plan.load import parse, resolve_files, to_toml
from tacit.plan.plan import Plan

MOST_PLANS = 1_000
"""A larger grid is more often a mistake than intended."""

BASELINE_NOTE = "; baseline "
"""In `selected_by` of a baseline of a sweep, between the sweep's note and the arm's name."""

_VALUE = re.compile(r"""(?:\[[^\]]*\]|"[^"]*"|'[^']*'|[^,])+""")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One combination: the settings as typed, and its plan for each seed."""

    settings: dict[str, str]
    plans: tuple[Plan, ...]

    @property
    def title(self) -> str:
        """The settings in one line."""
        return said(self.settings)


def grid(
    path: Path, over: Sequence[str], seeds: Sequence[int] = (), overrides: Sequence[str] = ()
) -> list[Point]:
    """Build every combination of the values in `over` (`table.key=value,value`), in typed order.

    Without seeds the plan's own seed is used. One PlanError names every invalid combination, before
    hours are spent on the valid ones.
    """
    axes = _axes(over)
    combinations = [
        dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
    ]
    count = len(combinations) * max(1, len(seeds))
    if count > MOST_PLANS:
        raise PlanError(
            f"--over: a sweep has at most {MOST_PLANS:,} runs, got {count:,}; give fewer values or seeds"
        )
    if len(set(seeds)) < len(seeds):
        raise PlanError(f"--seeds must be distinct, got {','.join(map(str, seeds))}")
    tree = toml.read(path)
    for setting in overrides:
        toml.override(tree, setting)
    points, refused = list[Point](), dict[str, list[str]]()
    for settings in combinations:
        try:
            points.append(
                Point(
                    settings=settings,
                    plans=tuple(resolve_files(path, one) for one in _plans(tree, settings, seeds)),
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
    """Format settings in one line."""
    return ", ".join(f"{key}={value}" for key, value in settings.items()) or "the plan as it is"


def _axes(over: Sequence[str]) -> dict[str, list[str]]:
    """Parse the values of each key; commas inside brackets or quotes belong to a value."""
    found: dict[str, list[str]] = {}
    for one in over:
        key, equals, text = (part.strip() for part in one.partition("="))
        values = [value.strip() for value in _VALUE.findall(text)]
        if not key or not equals or not any(values) or not all(values):
            raise PlanError(
                "--over must have the form table.key=value,value, such as --over"
                f" privacy.epsilon=1,2,8, got {one[:200]}"
            )
        if key == "seed":
            raise PlanError(
                f"--over {one[:200]}: seeds are not compared but averaged; use --seeds {text[:100]}"
            )
        if key in found:
            raise PlanError(
                f"--over {key} is given twice; give all its values at once: --over"
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
    """The error of a grid: each problem once, with its combinations."""
    having = {title for titles in refused.values() for title in titles}
    head = (
        f"{path}: {len(having)} of {count} combinations cannot run, so no run was started; change or"
        " remove these values"
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
