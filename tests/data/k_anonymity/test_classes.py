"""Rows are in one class exactly if they are equal, whatever the types; counted against a plain dictionary."""

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.k_anonymity.classes import close_gaps, group_equal_rows

NAN = float("nan")
VALUES = {
    "small": (pl.Int8, [-128, 127, 0, None]),
    "wide": (pl.Int64, [-(2**63), 2**63 - 1, 0, None]),
    "huge": (pl.UInt64, [2**64 - 1, 2**64 - 2, 0, None]),
    "float": (pl.Float64, [0.0, -0.0, 1.5, NAN, None]),
    "text": (pl.String, ["", "a", "é", None]),
    "kind": (pl.Enum(["x", "y", "z"]), ["x", "z", None]),
    "truth": (pl.Boolean, [True, False, None]),
    "day": (pl.Date, [datetime.date(1970, 1, 1), datetime.date(2300, 5, 5), None]),
    "raw": (pl.Binary, [b"", b"\x00", None]),
}


def same(value: object) -> object:
    """NaN equals NaN and minus zero equals zero, as in polars' own grouping."""
    if isinstance(value, float):
        return "nan" if value != value else value + 0.0
    return value


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_classes_are_equal_rows(data) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=5))
    rows = data.draw(st.integers(1, 40))
    columns = {
        name: data.draw(st.lists(st.sampled_from(VALUES[name][1]), min_size=rows, max_size=rows))
        for name in names
    }
    frame = pl.DataFrame(
        {name: pl.Series(values, dtype=VALUES[name][0]) for name, values in columns.items()}
    )
    frame = frame if names else pl.DataFrame({"none": [0] * rows}).drop("none")
    keys = (
        [tuple(map(same, row)) for row in zip(*columns.values(), strict=True)]
        if names
        else [()] * frame.height
    )
    found = group_equal_rows(frame)
    assert found.cells >= 1
    assert (found.of_row < found.cells).all()
    numbers = dict(zip(keys, found.of_row.tolist(), strict=True))
    assert [numbers[key] for key in keys] == found.of_row.tolist(), "equal rows have one number"
    assert len(set(numbers.values())) == len(numbers), "unequal rows have different numbers"


@pytest.mark.parametrize(
    "columns", [["age", "race", "sex"], ["age", "zip", "street"], ["pay", "zip", "street", "age"]]
)
def test_many_rows_agree_with_polars(columns) -> None:
    random = np.random.default_rng(5)
    rows = 50_000
    frame = pl.DataFrame(
        {
            "age": random.integers(17, 91, rows).astype(np.int32),
            "race": pl.Series(random.choice(list("abcde"), rows)).cast(pl.Enum(list("abcde"))),
            "sex": random.choice(["F", "M"], rows),
            "zip": random.integers(0, 99_999, rows) * 1_000_003,
            "street": random.choice([f"street {number}" for number in range(300)], rows),
            "pay": random.choice(np.array([0.1, 0.2, 1e300]), rows),
        }
    ).select(columns)
    expected = frame.select(pl.len().over(columns)).to_series().to_numpy()
    classes = group_equal_rows(frame)
    assert (classes.spread(classes.counts()) == expected).all()
    tight = close_gaps(classes)
    assert (tight.spread(tight.counts()) == expected).all()
    assert tight.cells == frame.n_unique()
    assert frame[tight.first_rows()].n_unique() == tight.cells


def test_no_rows_and_no_columns() -> None:
    assert len(group_equal_rows(pl.DataFrame({"a": []}))) == 0
    assert group_equal_rows(pl.DataFrame()).cells == 1
