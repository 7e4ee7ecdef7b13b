"""How many weights a plan's model has, told from columns and classes alone: the number that training has."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tacit import training
from tacit.plan import Plan, parse
from tacit.randomness import Draws
from tacit.simulation.advice.client_count import count_clients
from tacit.simulation.advice.enough_people import count_weights, describe_few_people
from tacit.simulation.prepared_rows import prepare

ROWS = pl.DataFrame(
    {
        "text": [f"word{k % 5} and {k}" for k in range(60)],
        "age": [None if k % 7 == 0 else k % 40 for k in range(60)],
        "pay": [k % 11 for k in range(60)],
        "town": ["abc"[k % 3] for k in range(60)],
        "two": ["yes", "no"] * 30,
        "three": ["x", "y", "z"] * 20,
    }
)


def plan_of(columns: dict[str, Any], **tables: Any) -> Plan:
    data = {"source": "given", "clients": 20, "columns": columns}
    return parse({"privacy": {"preset": "private", "epsilon": 1.0}, "data": data, **tables})


@pytest.mark.parametrize(
    ("columns", "tables"),
    [
        ({"numeric": ["pay"], "label": "two"}, {}),
        ({"numeric": ["pay", "age"], "categorical": ["town"], "label": "three"}, {}),
        (
            {"text": ["text"], "numeric": ["age"], "label": "two"},
            {"features": {"text": "binary", "buckets": 300}},
        ),
        (
            {"numeric": ["pay"], "categorical": ["town"], "label": "three"},
            {"model": {"name": "mlp", "hidden": [7, 3]}},
        ),
        (
            {"numeric": ["pay"], "categorical": ["town"], "label": "two"},
            {"features": {"categorical": "codes"}},
        ),
    ],
)
def test_weights_are_counted_without_training(
    columns: dict[str, Any], tables: dict[str, Any]
) -> None:
    plan = plan_of(columns, **tables)
    rows = prepare(plan, Draws.seeded(plan.seed), ROWS)
    assert (
        count_weights(plan, count_clients(plan, ROWS).table)
        == training.build(plan.model, plan.local, rows.train, rows.clients).size
    )


def test_a_round_that_asks_some_clients_is_judged_by_those() -> None:
    plan = plan_of({"numeric": ["pay"], "label": "two"})
    assert describe_few_people(plan, count_clients(plan, ROWS)).startswith(
        "20 clients are too few for epsilon 1 per run"
    )
    some = plan.with_settings("server.cohort=count", "server.cohort_size=5")
    assert describe_few_people(some, count_clients(some, ROWS)).startswith("5 clients are too few")
