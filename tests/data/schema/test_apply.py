"""A schema turns cells into the values that the plan means, and counts what does not fit, without quoting a cell."""

from __future__ import annotations

import datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.column_statistics.number_format import NumberFormat
from tacit.data.clean import DecimalSetting
from tacit.data.schema.apply import apply_schema
from tacit.errors import MisfitError
from tacit.plan import Columns, ColumnSchema, Schema

NUMERIC, NAMES = Columns(numeric=("x",), label="y"), Columns(categorical=("x",), label="y")


def applied(
    cells: Any, columns: Columns = NAMES, **keys: Any
) -> tuple[list[Any], dict[str, list[int]]]:
    """Return the values of one column, and the places of cells by kind of misfit."""
    series = cells if isinstance(cells, pl.Series) else pl.Series(cells)
    schema = Schema(columns={"x": ColumnSchema(**keys)})
    found = apply_schema(pl.DataFrame({"x": series}), columns, schema)
    return found.frame["x"].to_list(), {
        one.kind: one.rows.arg_true().to_list() for one in found.misfits
    }


def test_names_are_mapped_to_what_the_plan_means() -> None:
    assert applied(
        ["sick", " 0 ", "1", None, "", "ill"], type="string", enum=("0", "1"), mapping={"sick": "1"}
    ) == (["1", "0", "1", None, None, None], {"unknown value": [5]})


def test_composed_and_decomposed_letters_are_one_value() -> None:
    assert applied(["e\u0301te\u0301", "été"], type="string", enum=("été", "hiver")) == (
        ["été"] * 2,
        {},
    )


@pytest.mark.parametrize(
    "cells", [["1", "1.0", "2", "1.5", "x"], pl.Series([1.0, 1.0, 2.0, 1.5, 7.0])]
)
def test_integers_are_one_category_however_they_are_written(cells: Any) -> None:
    values, wrong = applied(cells, type="integer", enum=("1", "2"))
    assert values == ["1", "1", "2", None, None]
    assert 4 in wrong.get("not a number", []) + wrong["unknown value"]
    assert wrong["not an integer"] == [3]


@pytest.mark.parametrize(
    "cells",
    [
        ["5", "-999", "-999.0", "121", "abc", None],
        pl.Series([5, -999, -999, 121, None, None]),
        pl.Series([5.0, -999.0, -999.0, 121.0, float("nan"), None]),
    ],
)
def test_codes_and_ranges_of_numbers(cells: Any) -> None:
    values, wrong = applied(
        cells, NUMERIC, type="number", minimum=0.0, maximum=120.0, missing_values=("-999",)
    )
    assert [None if one is None else float(one) for one in values] == [
        5.0,
        None,
        None,
        None,
        None,
        None,
    ]
    assert wrong["out of range"] == [3]
    assert wrong.get("not a number", [4]) == [4]


def test_missing_values_do_not_fit_where_one_is_required() -> None:
    assert applied(["1", "NA", " ", None], NUMERIC, type="number", missing_values=("NA",), required=True) == (
        ["1", None, None, None],
        {"empty": [1, 2, 3]},
    )  # fmt: skip


def test_booleans() -> None:
    cells = ["true", "FALSE", "1", "0", "ja", "maybe"]
    assert applied(cells, type="boolean", mapping={"ja": "true"}) == (
        ["true", "false", "true", "false", "true", None],
        {"not a boolean": [5]},
    )
    assert applied(pl.Series([True, False, None]), NUMERIC, type="boolean") == (
        [1.0, 0.0, None],
        {},
    )


def test_dates() -> None:
    day = datetime.date(2020, 1, 2)
    seconds = 18263 * 86_400.0
    keys: dict[str, Any] = {"type": "date", "minimum": "2000-01-01"}
    wrong = {"not a date": [2], "out of range": [1]}
    written = ["02.01.2020", "31.12.1999", "2020-01-02"]
    assert applied(written, NUMERIC, format="%d.%m.%Y", **keys) == ([seconds, None, None], wrong)
    assert applied(["2020-01-02"], **keys) == (["2020-01-02"], {})
    assert applied(pl.Series([day, None]), NUMERIC, **keys) == ([seconds, None], {})
    assert applied(pl.Series([seconds]), NUMERIC, **keys) == ([seconds], {})


def test_texts_stay_as_they_are_but_for_missing_ones() -> None:
    columns = Columns(text=("x",), label="y")
    assert applied(["  a  b ", "none", " "], columns, type="string", missing_values=("none",), required=True) == (
        ["  a  b ", None, None],
        {"empty": [1, 2]},
    )  # fmt: skip


def test_numbers_stay_text_until_sites_agree_on_a_decimal_mark() -> None:
    schema = Schema(columns={"x": ColumnSchema(type="number", minimum=0.0, maximum=100.0)})
    frame = pl.DataFrame({"x": ["1,5", "1.234"]})
    read_with_comma = apply_schema(frame, NUMERIC, schema, DecimalSetting("comma"))
    assert [one.rows.arg_true().to_list() for one in read_with_comma.misfits] == [[1]]
    known = apply_schema(frame, NUMERIC, schema, formats={"x": NumberFormat(comma=False)})
    assert known.misfits == ()
    assert known.frame["x"].to_list() == ["1,5", "1.234"]
    with pytest.raises(MisfitError) as caught:
        apply_schema(frame, NUMERIC, schema, DecimalSetting("point", vouched=False))
    assert caught.value.public == "another decimal mark than the plan"


CELLS = st.one_of(
    st.none(), st.sampled_from(["0", "1", "sick", "-999", "N/A", "1.0", "7", "", " 1"])
)


@given(
    st.lists(CELLS, max_size=30),
    st.sampled_from(["string", "integer", "number", "boolean"]),
    st.booleans(),
)
def test_a_schema_applied_twice_changes_nothing_more(
    cells: list[str | None], kind: Any, required: bool
) -> None:
    """A rehearsal writes rows that were read under the schema, and sites read them under it again."""
    enum = () if kind == "boolean" else ("0", "1")
    column = ColumnSchema(
        type=kind, enum=enum, mapping={"sick": "1"}, missing_values=("-999",), required=required
    )
    schema = Schema(columns={"x": column})
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.String)})
    for columns in (NAMES, NUMERIC) if kind != "string" else (NAMES,):
        once = apply_schema(frame, columns, schema).frame
        fitting = once.drop_nulls()
        twice = apply_schema(fitting, columns, schema)
        assert twice.misfits == ()
        assert twice.frame["x"].to_list() == fitting["x"].to_list()


@given(st.lists(CELLS, min_size=2, max_size=20), st.data())
def test_a_cell_depends_on_no_other_row(cells: list[str | None], draw: Any) -> None:
    schema = Schema(columns={"x": ColumnSchema(type="integer", minimum=0.0, maximum=5.0, missing_values=("-999",))})  # fmt: skip
    kept = draw.draw(st.lists(st.integers(0, len(cells) - 1), unique=True, max_size=len(cells)))
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.String)})
    every, some = (
        apply_schema(one, NAMES, schema).frame["x"].to_list() for one in (frame, frame[kept])
    )
    assert some == [every[place] for place in kept]
