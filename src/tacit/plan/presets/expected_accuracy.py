"""What a run of the preset `private` can be expected to reach with a number of people, before
anything runs: the range that public data sets reached.

`measured_accuracy.json` has the test accuracy of each cell that was run, with its set, form of
inputs, people and epsilon per run; `python -m bench defaults --grid --limit 10000` and `python -m
bench few_people` print the tables. A cell's share is its accuracy between chance (the largest
class) and a model without protection. For other values of q = epsilon · people / 5000, shares are
interpolated in log q.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_FILE = Path(__file__).with_name("measured_accuracy.json")
_MARGIN = 0.4
"""Added at both ends, divided by the number of sets: others differ more than a few of them."""
_SAME_AS = {"binary": "listed", "encoder+binary": "encoder", "encoder+listed": "encoder"}
"""Forms of text that reach about the same as another one, or more."""
_NEAR, _LOW = 0.35, 0.2
_MOST_CLASSES, _MOST_COLUMN_INPUTS = 20, 150
"""Limits of what was measured; beyond them nothing is stated."""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """The range of a model's accuracy, as shares of the way from chance to a model without
    protection, and the sets on which it was measured.
    """

    low: float
    high: float
    sets: tuple[str, ...]

    def describe(self, people: int, epsilon: float) -> str:
        """Say the range in a sentence."""
        facts = f"with {people:,} clients at epsilon {epsilon:g} per run"
        span = f"{100 * self.low:.0f} to {100 * self.high:.0f} %"
        way = f"{span} of the way from chance to the accuracy without protection"
        said = f"{facts} expect {way}"
        if self.high <= _NEAR:
            said = f"{facts} expect a model close to chance: {way}"
        elif self.low <= _LOW:
            said += "; it may stay close to chance"
        return f"{said} (measured on {', '.join(self.sets)}; other data may lie outside)"


def describe_expectation(plan: Plan, classes: int, column_inputs: int, people: int) -> str:
    """The expected range of a plan in a sentence; empty where nothing similar was measured.

    `column_inputs` is the number of inputs from numeric and categorical columns, `people` the
    number of clients whose rows are at hand.
    """
    asked, settings = plan.privacy, plan.features
    is_measured = (
        asked is not None
        and asked.preset == "private"
        and asked.epsilon is not None
        and plan.model.name == "logistic"
        and plan.codec.name == "dp_sum"
        and not plan.data.columns.image
        and (settings.encoder == "minilm" or not settings.has_encoder)
        and 2 <= classes <= _MOST_CLASSES
        and column_inputs <= _MOST_COLUMN_INPUTS
    )
    if not is_measured or asked is None or asked.epsilon is None:
        return ""
    form = settings.text if plan.data.columns.text else "table"
    found = expect_accuracy(_SAME_AS.get(form, form), people, asked.epsilon)
    return found.describe(people, asked.epsilon) if found else ""


def expect_accuracy(form: str, people: int, epsilon: float) -> Expectation | None:
    """The range that the measured sets of a form reached; None if none was measured."""
    q = epsilon * people / 5000
    curves = _read_curves().get(form, {})
    if not curves:
        return None
    shares = [_interpolate(curve, q) for curve in curves.values()]
    margin = _MARGIN / len(curves)
    return Expectation(
        low=max(0.0, min(shares) - margin),
        high=min(1.0, max(shares) + margin),
        sets=tuple(sorted(curves)),
    )


def read_cells() -> list[dict[str, Any]]:
    """The measured cells."""
    found: list[dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))["cells"]
    return found


@lru_cache
def _read_curves() -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Points (log q, share) by form and set, in increasing order of q."""
    cells = sorted(read_cells(), key=lambda cell: (cell["form"], cell["set"], _log_q(cell)))
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for (form, name), group in groupby(cells, key=lambda cell: (cell["form"], cell["set"])):
        curves.setdefault(form, {})[name] = [(_log_q(cell), compute_share(cell)) for cell in group]
    return curves


def _log_q(cell: dict[str, Any]) -> float:
    return math.log(cell["epsilon"] * cell["people"] / 5000)


def compute_share(cell: dict[str, Any]) -> float:
    """Accuracy of a cell between chance and the accuracy without protection."""
    whole = cell["unprotected"] - cell["chance"]
    return min(1.0, max(0.0, float((cell["accuracy"] - cell["chance"]) / whole)))


def _interpolate(curve: list[tuple[float, float]], q: float) -> float:
    """The share at q. Below the first point it falls in proportion to q; above the last it stays."""
    at = math.log(q)
    if at <= curve[0][0]:
        return curve[0][1] * math.exp(at - curve[0][0])
    for (before, low), (after, high) in pairwise(curve):
        if at <= after:
            return low + (high - low) * (at - before) / max(after - before, 1e-9)
    return curve[-1][1]
