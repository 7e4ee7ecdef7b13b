"""What each column of a table is taken for."""

from __future__ import annotations

import polars as pl
import pytest

from tacit.data.roles.guess_roles import guess_roles
from tacit.errors import DataError


def words(number: int) -> str:
    return " ".join(
        ("good", "bad", "the", "case", "phone")[(number * 7 + k * k) % 5] for k in range(8)
    )


def roles(frame: pl.DataFrame, label: str | None = None) -> dict[str, str]:
    return {one.column: one.role for one in guess_roles(frame, label)}


def test_reviews_with_owners() -> None:
    frame = pl.DataFrame(
        {
            "review_id": [f"r{k}" for k in range(100)],
            "userId": [f"u{k % 40}" for k in range(100)],
            "body": [f"{words(k)} {k}" for k in range(100)],
            "sentiment": [("pos", "neg")[k % 2] for k in range(100)],
            "age": [str(20 + k % 50) if k % 7 else "n/a" for k in range(100)],
            "country": [("DE", "FR", None)[k % 3] for k in range(100)],
            "written": [f"2024-01-{1 + k % 28:02d}" for k in range(100)],
            "same": ["x"] * 100,
            "nothing": [None] * 100,
        }
    )
    assert roles(frame) == {
        "review_id": "left out",
        "userId": "client",
        "body": "text",
        "sentiment": "label",
        "age": "numeric",
        "country": "categorical",
        "written": "left out",
        "same": "left out",
        "nothing": "left out",
    }


def test_label_is_the_last_column_with_few_values() -> None:
    frame = pl.DataFrame(
        {
            "a": [k / 7 for k in range(60)],
            "blood type": ["A", "B", "0"] * 20,
            "good?": ["y", "n"] * 30,
        }
    )
    assert roles(frame) == {"a": "numeric", "blood type": "categorical", "good?": "label"}
    assert roles(frame, "blood type")["blood type"] == "label"


def test_owners_are_the_label_where_nothing_else_can_be_predicted() -> None:
    frame = pl.DataFrame(
        {"message": [f"{words(k)} {k}" for k in range(60)], "author": ["ann", "bob"] * 30}
    )
    assert roles(frame) == {"message": "text", "author": "label"}
    assert roles(frame.with_columns(mood=pl.Series(["good", "bad", "good"] * 20))) == {
        "message": "text", "author": "client", "mood": "label",
    }  # fmt: skip


def test_an_echo_of_the_label_is_left_out() -> None:
    frame = pl.DataFrame(
        {
            "x": [k / 7 for k in range(60)],
            "label": [0, 1, 2] * 20,
            "label name": ["a", "b", "c"] * 20,
        }
    )
    assert roles(frame)["label name"] == "left out"


def test_a_split_column_is_found() -> None:
    frame = pl.DataFrame(
        {"x": [k / 7 for k in range(60)], "y": [0, 1] * 30, "part": ["train"] * 40 + ["test"] * 20}
    )
    assert roles(frame)["part"] == "split"


def test_owners_unique_in_each_row_are_no_clients() -> None:
    frame = pl.DataFrame(
        {"patient_id": range(60), "x": [k / 7 for k in range(60)], "y": [0, 1] * 30}
    )
    assert roles(frame)["patient_id"] == "left out"


def test_a_column_that_numbers_the_rows_teaches_nothing() -> None:
    frame = pl.DataFrame(
        {"№": [str(k + 1) for k in range(60)], "x": [k / 7 for k in range(60)], "y": [0, 1] * 30}
    )
    assert roles(frame) == {"№": "left out", "x": "numeric", "y": "label"}


def test_an_id_that_repeats_is_left_out_with_the_way_to_make_it_the_owner() -> None:
    frame = pl.DataFrame(
        {
            "Vorgang id": [f"k{k % 9}" for k in range(60)],
            "x": [k / 7 for k in range(60)],
            "y": [0, 1] * 30,
        }
    )
    found = {one.column: one for one in guess_roles(frame)}["Vorgang id"]
    assert found.role == "left out"
    assert "client column" in found.why


def test_a_label_that_says_it_is_missing_is_pointed_out() -> None:
    frame = pl.DataFrame({"x": [k / 7 for k in range(60)], "label": ["yes", "no", "N/A"] * 20})
    assert "N/A counts as a class" in {one.column: one.why for one in guess_roles(frame)}["label"]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"x": [k / 7 for k in range(60)]}),
        pl.DataFrame({"label": [0, 1] * 30}),
        pl.DataFrame({"label": [0, 1] * 30, "id": range(60)}),
    ],
)
def test_hopeless_tables_are_refused(frame: pl.DataFrame) -> None:
    with pytest.raises(DataError):
        guess_roles(frame)
