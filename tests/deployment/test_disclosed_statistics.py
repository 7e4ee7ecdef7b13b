"""Ends of ranges that are told are nobody's own value, and enough clients lie at or beyond each of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tacit.deployment.site.rows.disclosed_statistics import _rounded_range, list_common_values
from tacit.errors import PolicyError
from tacit.privacy.policy import Limits


@pytest.mark.parametrize("seed", range(40))
def test_enough_clients_lie_at_or_beyond_each_end(seed) -> None:
    draw = np.random.default_rng(seed)
    rows, least = int(draw.integers(50, 300)), int(draw.integers(2, 12))
    values = draw.normal(draw.normal(0, 100), 10.0 ** draw.integers(-3, 4), rows)
    values[draw.integers(0, rows, 3)] *= 1e6
    frame = pl.DataFrame({"value": values, "who": draw.integers(0, 60, rows)})
    ends = (float(values.min()), float(values.max()))
    low, high = _rounded_range(frame, "value", "who", ends, least)
    assert low < high
    clients = frame.group_by("who").agg(
        pl.col("value").min().alias("low"), pl.col("value").max().alias("high")
    )
    tenth = (np.sort(clients["high"])[-least] - np.sort(clients["low"])[least - 1]) / 10
    assert (
        np.sort(clients["low"])[least - 1] - 5 * tenth <= low <= np.sort(clients["low"])[least - 1]
    )
    assert np.sort(clients["high"])[-least] <= high <= np.sort(clients["high"])[-least] + 5 * tenth


@pytest.mark.parametrize("far", [1e9, -1e9])
def test_what_a_few_people_have_moves_nothing(far) -> None:
    """Nine clients with extreme values leave the told range as it is without them."""
    usual = pl.DataFrame(
        {"value": [20.0 + number % 60 for number in range(600)], "who": list(range(600))}
    )
    some = usual.with_columns(
        pl.when(pl.col("who") < 9).then(pl.lit(far)).otherwise(pl.col("value")).alias("value")
    )
    without = usual.filter(pl.col("who") >= 9)
    assert _rounded_range(some, "value", "who", (-1e9, 1e9), 10) == _rounded_range(
        without, "value", "who", (-1e9, 1e9), 1
    )


def test_a_range_of_too_few_clients_is_not_told() -> None:
    frame = pl.DataFrame({"value": [float(number) for number in range(15)], "who": list(range(15))})
    with pytest.raises(
        PolicyError, match=r"min_clients_per_value = 10: too few clients have a number in 'value'"
    ):
        _rounded_range(frame, "value", "who", (0.0, 14.0), 10)

    few = frame[:5].vstack(frame[:5].with_columns(value=pl.lit(9.0)))
    with pytest.raises(PolicyError, match="too few clients"):
        _rounded_range(few, "value", "who", (0.0, 9.0), 10)


def test_as_many_clients_as_are_needed() -> None:
    """Each of ten clients has both ends; cells that are no numbers say nothing; without clients each row is somebody."""
    frame = pl.DataFrame(
        {"value": ["0", "10", "no number"] * 10, "who": [row // 3 for row in range(30)]}
    )
    assert _rounded_range(frame, "value", "who", (0.0, 10.0), 10) == (0.0, 10.0)
    with pytest.raises(PolicyError, match="too few clients"):
        _rounded_range(frame, "value", "who", (0.0, 10.0), 11)
    assert _rounded_range(frame, "value", None, (0.0, 10.0), 10) == (0.0, 10.0)
    rows = pl.DataFrame({"value": [float(row) for row in range(10)]})
    assert _rounded_range(rows, "value", None, (0.0, 9.0), 3) == (2.0, 7.0)


def test_one_value_and_none() -> None:
    same = pl.DataFrame({"value": [37.0] * 20, "who": list(range(20))})
    assert _rounded_range(same, "value", "who", (37.0, 37.0), 10) == (35.0, 40.0)
    nothing = pl.DataFrame(
        {"value": [None] * 20, "who": list(range(20))},
        schema={"value": pl.Float64, "who": pl.Int64},
    )
    assert _rounded_range(nothing, "value", "who", (0.0, 0.0), 10) == (0.0, 0.0)
    assert _rounded_range(same.with_columns(value=pl.lit(0.0)), "value", "who", (0.0, 0.0), 10) == (
        0.0,
        0.0,
    )


def test_exactly_so_many_clients_are_enough() -> None:
    frame = pl.DataFrame({"ward": ["a"] * 10 + ["b"] * 9, "who": list(range(19))})
    assert list_common_values(frame, "ward", "who", Limits(), "label") == ["a"]
    assert list_common_values(frame, "ward", None, Limits(), "label") == ["a"]
    assert list_common_values(frame, "ward", "who", Limits(max_values_per_column=1), "label") == [
        "a"
    ]
    with pytest.raises(PolicyError, match="max_values_per_column = 1"):
        list_common_values(
            frame, "ward", "who", Limits(min_clients_per_value=9, max_values_per_column=1), "label"
        )
