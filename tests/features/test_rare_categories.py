"""A model knows only categories that enough clients have."""

from __future__ import annotations

import polars as pl

from tacit.features import describe_rare, encode, fit
from tacit.plan import Columns, Features

OWNED = Columns(categorical=("town",), label="y", client="who")
FREE = Columns(categorical=("town",), label="y")


def people(towns: list[str], owners: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {"town": towns, "who": owners, "y": ["ab"[k % 2] for k in range(len(towns))]}
    )


def test_clients_are_counted_where_there_are_owners_and_rows_where_there_are_none() -> None:
    # Thirty clients with two rows each; "rare" is that of one client with forty rows more.
    towns = [("A", "B")[k % 2] for k in range(60)] + ["rare"] * 40
    frame = people(towns, [k // 2 for k in range(60)] + [0] * 40)
    assert fit(frame, OWNED, Features()).categories["town"] == ("A", "B")
    assert fit(frame, FREE, Features()).categories["town"] == ("A", "B", "rare")
    assert fit(frame, OWNED, Features(category_clients=1)).categories["town"] == ("A", "B", "rare")


def test_rare_categories_are_unknown_ones_and_counted() -> None:
    frame = people(["A"] * 30 + ["B"] * 30 + ["C"] * 9, list(range(69)))
    fitted = fit(frame, FREE, Features())
    rows = encode(frame, FREE, Features(), fitted).inputs
    assert rows.width == 2
    assert rows.matrix[60:].tolist() == [[0.0, 0.0]] * 9
    assert describe_rare(frame, FREE, fitted) == [
        "1 rare categories of 'town' in 9 train rows count as unknown"
    ]


def test_half_of_few_clients_are_enough() -> None:
    frame = people(["A", "B", "A", "B", "A", "C"] * 10, [k % 6 for k in range(60)])
    assert fit(frame, OWNED, Features()).categories["town"] == ("A",)


def test_no_value_is_named_where_none_is_common() -> None:
    frame = people([f"town {k}" for k in range(30)], list(range(30)))
    fitted = fit(frame, FREE, Features())
    assert fitted.categories["town"] == ("(missing)",)
    assert not encode(frame, FREE, Features(), fitted).inputs.matrix.any()
