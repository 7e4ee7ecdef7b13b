"""Laws of every aggregation rule, on the settings with which a plan names it."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from tacit import plan, server
from tacit.errors import PlanError
from tacit.plan.tables.server import Rule
from tacit.server.rules.clean import TrustedReference
from tests.laws.rule_cases import CASES

BAD, CLIENTS, WIDTH = 3, 10, 30
each = pytest.mark.parametrize("rule", CASES)
robust = pytest.mark.parametrize("rule", [rule for rule in CASES if rule != "mean"])


def settings(rule: str, **more: object) -> plan.Server:
    """The checked settings of a plan with this rule."""
    tables = {
        "data": {"source": "x.csv", "columns": {"numeric": ["n"], "label": "y"}},
        "codec": {"name": "plain"},
        "public": {"share": 0.1},
    }
    return plan.parse({**tables, "server": {"rule": rule, **CASES[rule], **more}}).server


def honest(clients: int = CLIENTS) -> np.ndarray:
    return (1 + 0.5 * np.random.default_rng(0).standard_normal((clients, WIDTH))).astype(np.float32)


def combine(chosen: plan.Server, rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    own = np.ones(WIDTH, np.float32)
    clean = TrustedReference(
        update=lambda: own, gains=lambda rows: -np.linalg.norm(rows - own, axis=1).astype(float)
    )
    counts = np.ones(len(rows), np.int64) if weights is None else weights
    given = server.Updates(names=np.arange(len(rows)), rows=rows, weights=counts)
    return server.combine(chosen, given, {}, clean)[0]


def test_every_rule_of_a_plan_is_under_these_laws() -> None:
    assert set(CASES) == set(get_args(Rule))


@each
@pytest.mark.parametrize("clients", [1, 2, 3])
def test_a_rule_takes_any_cohort(rule: str, clients: int) -> None:
    found = combine(settings(rule), honest(clients))
    assert found.dtype == np.float32
    assert found.shape == (WIDTH,)
    assert np.isfinite(found).all()


@robust
@pytest.mark.parametrize("far", [-1e3, 1e3, 1e30])
def test_a_few_bad_clients_cannot_lead_a_robust_rule_away(rule: str, far: float) -> None:
    rows = honest()
    rows[:BAD] = np.float32(far)
    reach = np.linalg.norm(rows[BAD:], axis=1).max()
    assert np.linalg.norm(combine(settings(rule), rows)) < 2 * reach


def refused(rule: str, **more: object) -> str:
    """Why a plan with further settings is refused; empty if it is not."""
    try:
        settings(rule, **more)
    except PlanError as error:
        return str(error)
    return ""


@each
def test_a_rule_that_takes_weights_uses_them(rule: str) -> None:
    """A plan with `weights = "rows"` is refused, or the weights change the result."""
    if "server.weights must be 'equal'" in refused(rule, weights="rows"):
        return
    chosen, rows = settings(rule, weights="rows"), honest()
    weights = np.arange(1, CLIENTS + 1) ** 3
    assert not np.allclose(combine(chosen, rows), combine(chosen, rows, weights), atol=1e-3)


@each
def test_a_rule_that_takes_a_bound_uses_it(rule: str) -> None:
    """A plan with `bound` is refused, or the bound changes the result."""
    if "server.bound cannot be used" in refused(rule, bound=1.0):
        return
    tight, wide = (combine(settings(rule, bound=bound), honest()) for bound in (0.1, 100.0))
    assert not np.allclose(tight, wide, atol=1e-3)
