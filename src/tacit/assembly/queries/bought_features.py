"""What features need to know about rows, bought as answers to queries instead of read in the clear.

The queries are a plan of their own, with a part of the run's guarantee (`features.fit_share`). Their
answers fill in the settings of `[features]` that state values of columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tacit.errors import DataError
from tacit.plan import Columns, DPSum, Plan, Server, Statistics
from tacit.plan.presets.privacy import split_loss

_MOST_CATEGORIES = 48
_LABEL, _RANGE, _MISSING, _CATEGORIES = "classes", "range of", "missing in", "categories of"
_LABEL_WEIGHT, _MISSING_WEIGHT = 4.0, 0.5
_STANDS_OUT = 3.0
"""Standard deviations of noise by which rows without a number must exceed zero."""

Answers = Sequence[Mapping[str, Any]]


def build_feature_plan(plan: Plan, columns: Columns) -> Plan | None:
    """The queries that a plan's features need, as a plan; None if the plan states everything."""
    queries = list_feature_queries(plan, columns)
    if not queries:
        return None
    asked_for = plan.privacy
    assert asked_for is not None, "a checked plan that buys features has a guarantee"
    epsilon, delta = asked_for.epsilon or 0.0, asked_for.delta or 0.0
    loss = split_loss(epsilon, delta, plan.features.fit_share)[0]
    weights = {_LABEL: _LABEL_WEIGHT} | {
        name: _MISSING_WEIGHT for name in queries if name.startswith(_MISSING)
    }
    asked = Statistics(
        queries=queries,
        rows_per_person=1,
        weights={name: weight for name, weight in weights.items() if name in queries},
    )
    return replace(
        plan,
        statistics=asked,
        codec=DPSum(epsilon=loss["epsilon"], delta=loss["delta"], clip=1.0),
        server=Server(rounds=asked.rounds, sum_at=plan.server.sum_at, deliver_to="nobody"),
        baselines=(),
        public=None,
    )


def list_feature_queries(plan: Plan, columns: Columns) -> dict[str, str]:
    """The sentences by name: classes, ranges, missing numbers, categories that no table states."""
    agreed, features, queries = plan.agree_values(columns), plan.features, dict[str, str]()
    if columns.label and not agreed.classes:
        queries[_LABEL] = f"frequent values of {_quote(columns.label)} at most {_MOST_CATEGORIES}"
    for name in columns.numeric:
        if features.numeric != "raw" and name not in {*features.ranges, *agreed.ranges}:
            queries[f"{_RANGE} {name}"] = f"range of {_quote(name)}"
        if features.missing is None and name not in agreed.may_miss:
            queries[f"{_MISSING} {name}"] = f"missing in {_quote(name)}"
    for name in columns.categorical:
        if name not in agreed.categories:
            queries[f"{_CATEGORIES} {name}"] = (
                f"frequent values of {_quote(name)} at most {_MOST_CATEGORIES}"
            )
    return queries


def fill_in_features(plan: Plan, columns: Columns, answers: Answers) -> Plan:
    """The plan with what the answers say; raise DataError if the classes are not among it."""
    features, found = plan.features, {str(one["name"]): one for one in answers}
    agreed = plan.agree_values(columns)
    classes = tuple(_list_labels(found[_LABEL])) if _LABEL in found else features.classes
    if _LABEL in found and len(classes) < 2:
        raise DataError(
            f"the noise hides the classes of {columns.label!r}: {len(classes)} of them stand out;"
            " state them in features.classes, or raise privacy.epsilon or features.fit_share"
        )
    ranges = {
        name: _read_range(found[f"{_RANGE} {name}"])
        for name in columns.numeric
        if f"{_RANGE} {name}" in found
    }
    missing = [
        name
        for name in columns.numeric
        if (one := found.get(f"{_MISSING} {name}")) and _exceeds_noise(one)
    ]
    categories = {
        name: tuple(_list_labels(found[f"{_CATEGORIES} {name}"])) or ("(missing)",)
        for name in columns.categorical
        if f"{_CATEGORIES} {name}" in found
    }
    stated = features.missing
    if stated is None and set(columns.numeric) - set(agreed.may_miss):
        stated = tuple(missing)
    return replace(
        plan,
        features=replace(
            features,
            classes=classes,
            ranges={**features.ranges, **ranges},
            missing=stated,
            categories={**features.categories, **categories},
        ),
    )


def split_for_sites(plan: Plan, columns: Columns) -> tuple[Plan | None, Plan]:
    """A plan that buys features as two plans for sites: the queries (None without any), and training,
    whose features `fill_in_features` completes. Each states its own part of the loss.
    """
    asked, training = build_feature_plan(plan, columns), plan.codec
    assert isinstance(training, DPSum), "a checked plan that buys features has this codec"
    assert plan.privacy is not None, "a checked plan that buys features has a guarantee"
    told = replace(plan.features, fit="clear")
    rest = replace(plan, features=told, privacy=replace(plan.privacy, epsilon=training.epsilon))
    if asked is None:
        return None, rest
    loss = asked.codec
    assert isinstance(loss, DPSum), "queries of features have this codec"
    return (
        replace(
            asked,
            name=f"{plan.name[:50]}-features",
            features=replace(asked.features, fit="clear"),
            privacy=replace(plan.privacy, epsilon=loss.epsilon),
            data=replace(
                asked.data,
                test=0.0,
                columns=replace(
                    columns,
                    label=None,
                    split=None,
                    categorical=(*columns.categorical, *([columns.label] if columns.label else ())),
                ),
            ),
        ),
        rest,
    )


def _quote(name: str) -> str:
    """A column's name as a sentence has it."""
    mark = "'" if '"' in name else '"'
    return f"{mark}{name}{mark}"


def _list_labels(answer: Mapping[str, Any]) -> list[str]:
    """The values that stand out."""
    return [str(figure["label"]) for figure in answer["figures"]]


def _read_range(answer: Mapping[str, Any]) -> tuple[float, float]:
    """The 1st and the 99th percentile; 0 to 1 where noise hides them."""
    values = [figure["value"] for figure in answer["figures"][:2]]
    if len(values) < 2 or None in values:
        return 0.0, 1.0
    low, high = float(values[0]), float(values[1])
    return low, high if low < high else math.nextafter(low, math.inf) + abs(low) * 2**-20 + 2**-40


def _exceeds_noise(answer: Mapping[str, Any]) -> bool:
    return float(answer["figures"][0]["value"]) > _STANDS_OUT * float(answer["noise"])
