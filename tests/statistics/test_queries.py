"""Sentences become queries, or say what is wrong with them."""

from __future__ import annotations

import pytest

from tacit import plan
from tacit.plan.tables.statistics.query import FORMS, Range, parse_query


@pytest.mark.parametrize("form", FORMS)
def test_every_example_is_a_query(form) -> None:
    parse_query(form)


def test_what_sentences_say() -> None:
    mean = parse_query("Mean of age FROM 0 to 1e2")
    assert (mean.kind, mean.ranges, mean.rounds) == ("mean", (Range(low=0, high=100),), 1)
    assert parse_query("mean of age").rounds == 2
    assert parse_query("count by \"marital status\" among single, 'not single'").values == (
        "single",
        "not single",
    )
    assert parse_query("count by town").kind == "frequent"
    assert parse_query("quantiles .25, .5 of x").points == (0.25, 0.5)
    assert parse_query("correlation of a and b from 0 to 1").ranges == (None, Range(low=0, high=1))


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("", "begins with no known query"),
        ("mean of", "a column must follow"),
        ("mean of age from 0", "'to' must follow"),
        ("mean of age from 5 to 1", "upper end must be above"),
        ("mean of age from 0 to nan", "finite number"),
        ("mean of age from 0 to 5e-324", "must be wider"),
        ("sum of age from 0 to 1 please", "'please' is not understood"),
        ("histogram of age from 0 to 1 in 1.5 bins", "integer from 1 to 1,000"),
        ("quantiles 1.5 of age", "between 0 and 1"),
        ("count by town among a, a", "values must differ"),
        ("distinct values of town above 0", "at least 1"),
        ("correlation of a and a", "must differ"),
        ("frequent values of town at most 1000", "integer from 1 to 256"),
    ],
)
def test_other_sentences_are_refused(sentence, why) -> None:
    with pytest.raises(ValueError, match=why):
        parse_query(sentence)


def test_a_plan_takes_roles_and_rounds_from_its_queries() -> None:
    tree = {
        "privacy": {"epsilon": 1.0},
        "data": {"source": "visits.csv"},
        "statistics": {
            "queries": {
                "a": "mean of age from 0 to 9",
                "t": "frequent words of note",
                "w": "count by ward among x",
            }
        },
    }
    made = plan.parse(tree)
    columns = made.data.columns
    assert (columns.numeric, columns.text, columns.categorical) == (("age",), ("note",), ("ward",))
    assert (made.server.rounds, made.codec.name, made.data.test) == (2, "dp_sum", 0.0)
    assert plan.parse(plan.dump(made)) == made
    assert made.with_settings("privacy.epsilon=2").codec.epsilon == 2
