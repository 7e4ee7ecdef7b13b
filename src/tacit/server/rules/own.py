"""A user-defined aggregation rule: imported and checked when a run starts, called by the
server in each round.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit import extensions, plan
from tacit.errors import PlanError
from tacit.extensions import Reference
from tacit.rows import Vector
from tacit.server.rules import MEMORY, Memory, RuleInput

_OWN = f"{MEMORY}own."


def check_own_rule(settings: plan.Server) -> None:
    """Raise PlanError if a plan names a user-defined rule that cannot be called; a run calls
    this before it reads data.
    """
    if settings.own_rule is not None:
        _load.cache_clear()
        _load(settings.own_rule, tuple(settings.rule_settings.items()))


def combine_by_own_rule(
    settings: plan.Server, seen: RuleInput, memory: Memory
) -> tuple[Vector, Memory]:
    """Aggregate updates by a user-defined rule; the names of its memory get a prefix.

    Raises PlanError if the rule returns anything but one finite number per parameter and arrays by
    name.
    """
    assert settings.own_rule is not None
    rule = _load(settings.own_rule, tuple(settings.rule_settings.items()))
    own = {name.removeprefix(_OWN): one for name, one in memory.items() if name.startswith(_OWN)}
    returned = rule(seen, own, **settings.rule_settings)
    where = f"server.rule = {settings.own_rule.path!r}"
    if not isinstance(returned, tuple) or len(returned) != 2 or not isinstance(returned[1], dict):
        raise PlanError(
            f"{where} must return the mean update and a dict of its memory, got"
            f" {type(returned).__name__}"
        )
    mean, kept = np.asarray(returned[0], np.float32), returned[1]
    if mean.shape != seen.rows.shape[1:] or not np.isfinite(mean).all():
        raise PlanError(
            f"{where} must return {seen.rows.shape[1]:,} finite numbers, one per parameter, got"
            f" shape {mean.shape}"
            + (" with numbers that are not finite" if mean.shape == seen.rows.shape[1:] else "")
        )
    return mean, {f"{_OWN}{name}": np.asarray(one) for name, one in kept.items()}


@functools.cache  # a file that changes during a run changes nothing
def _load(reference: Reference, settings: tuple[tuple[str, object], ...]) -> Callable[..., Any]:
    return extensions.load_function("server.rule", reference, ("updates", "memory"), dict(settings))
