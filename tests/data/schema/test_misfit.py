"""Rows that do not fit are refused or left out; at a site the refusal depends on enough clients, and names no cell."""

from __future__ import annotations

import polars as pl
import pytest

from tacit.data.schema.apply import apply_schema
from tacit.data.schema.misfit import MisfitRules, settle_misfits
from tacit.errors import MisfitError
from tacit.plan import Columns, ColumnSchema, Schema

COLUMNS = Columns(numeric=("age",), label="y", client="who")
SITE = MisfitRules("who", 10)


def table(wrong: int, people: int = 40) -> pl.DataFrame:
    """One row for each person, some of them with an age that is out of range."""
    ages = [4321 if person < wrong else 40 for person in range(people)]
    return pl.DataFrame({"age": ages, "who": [f"p{one}" for one in range(people)]})


def settle(
    frame: pl.DataFrame, rules: MisfitRules = SITE, **keys: str
) -> tuple[pl.DataFrame, list[str]]:
    schema = Schema(
        columns={"age": ColumnSchema(type="integer", minimum=0.0, maximum=120.0)}, **keys
    )  # type: ignore[arg-type]
    mapped = apply_schema(frame, COLUMNS, schema)
    return settle_misfits(mapped.frame, mapped.misfits, schema, rules)


@pytest.mark.parametrize("wrong", [1, 9])
def test_rows_of_few_clients_are_left_out(wrong: int) -> None:
    rows, notes = settle(table(wrong))
    assert rows.height == 40 - wrong
    assert notes == [
        f"{wrong:,} rows do not fit the schema and are left out ('age' is out of range in"
        f" {'1 row' if wrong == 1 else f'{wrong} rows'})"
    ]


def test_the_refusal_says_the_same_for_any_number_of_clients() -> None:
    said = set()
    for wrong in (10, 11, 40):
        with pytest.raises(MisfitError) as caught:
            settle(table(wrong))
        said.add(caught.value.public)
        assert "4321" not in str(caught.value)
    assert said == {"age out of range"}


def test_many_rows_of_few_clients_do_not_refuse() -> None:
    rows, _ = settle(pl.concat([table(9)] * 3))
    assert rows.height == 3 * 31


def test_where_rows_have_no_clients_rows_count() -> None:
    assert settle(table(9), MisfitRules(None, 10))[0].height == 31
    with pytest.raises(MisfitError):
        settle(table(10), MisfitRules(None, 10))


def test_a_simulation_refuses_a_single_misfit() -> None:
    with pytest.raises(
        MisfitError, match="rows do not fit the plan's schema: 'age' is out of range in 1 row;"
    ):
        settle(table(1), MisfitRules("who"))


def test_drop_leaves_rows_out_unless_most_do_not_fit() -> None:
    assert settle(table(20), misfits="drop")[0].height == 20
    with pytest.raises(MisfitError) as caught:
        settle(table(21), misfits="drop")
    assert caught.value.public == "most rows do not fit, age out of range"


def test_a_name_that_the_server_would_not_quote_is_a_number() -> None:
    schema = Schema(columns={"Größe": ColumnSchema(type="integer", maximum=1.0)})
    mapped = apply_schema(pl.DataFrame({"Größe": [2]}), Columns(numeric=("Größe",)), schema)
    with pytest.raises(MisfitError) as caught:
        settle_misfits(mapped.frame, mapped.misfits, schema, MisfitRules())
    assert caught.value.public == "column 1 out of range"
