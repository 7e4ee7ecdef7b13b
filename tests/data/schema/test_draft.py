"""The draft of `tacit init` fits the table it was made from, and names nobody's own value."""

from __future__ import annotations

import tomllib

import polars as pl

from tacit import plan as plans
from tacit.data import StarterRequest
from tacit.data.load import load
from tacit.data.roles.starter import build_starter
from tacit.data.schema.draft import draft_schema
from tacit.randomness import Draws


def visits() -> pl.DataFrame:
    people = [one for one in range(60) for _ in range(2)]
    return pl.DataFrame(
        {
            "patient": [f"p{one}" for one in people],
            "age": ["-999" if one == 7 else str(19 + one) for one in people],
            "dose": ["NA" if one == 9 else f"{one}.25" for one in people],
            "ward": ["rare" if one == 3 else "AB"[one // 3 % 2] for one in people],
            "smoker": [("true", "false")[one // 5 % 2] for one in people],
            "outcome": [str(one % 2) for one in people],
        }
    )


def uncommented(text: str) -> str:
    head, mark, draft = text.partition("# [schema]")
    return head + "\n".join(line.removeprefix("#").removeprefix(" ") for line in (mark + draft).splitlines())  # fmt: skip


def test_an_uncommented_draft_is_a_schema_of_the_table() -> None:
    frame = visits().filter(pl.col("ward") != "rare")
    text = build_starter(frame, asked=StarterRequest(label="outcome", client="patient")).text
    assert plans.parse(tomllib.loads(text)).schema is None, "it is a draft"
    plan = plans.parse(tomllib.loads(uncommented(text)))
    assert plan.schema is not None
    assert {name: one.type for name, one in plan.schema.columns.items()} == {
        "age": "integer", "dose": "number", "ward": "string", "smoker": "boolean", "outcome": "integer",
    }  # fmt: skip
    assert plan.schema.columns["age"].missing_values == ("-999",)
    assert plan.schema.columns["dose"].missing_values == ("NA",)
    table = load(plan.data, Draws.seeded(0), frame, schema=plan.schema)
    assert table.train.height + table.test.height == frame.height


def test_no_end_is_a_value_of_somebody_and_no_rare_value_is_named() -> None:
    text = draft_schema(
        visits(), {"age": "numeric", "ward": "categorical", "outcome": "label", "patient": "client"}
    )
    assert "minimum = 10\n# maximum = 80" in text
    assert 'enum = ["A", "B"]' in text
    assert "rare" not in text


def test_a_table_without_such_columns_has_no_draft() -> None:
    assert draft_schema(pl.DataFrame({"note": ["a"]}), {"note": "text"}) == ""
