"""Rows that are held out: something to learn and something to measure are left in small tables too, whatever the seed."""

from __future__ import annotations

import polars as pl
import pytest

from tacit.data import find_most_clients, load
from tacit.data.held_out import hold_out_rows
from tacit.plan import GIVEN, Columns, Data
from tacit.randomness import Draws

COLUMNS = Columns(numeric=("x",), label="y")


def table(labels: list[str | None]) -> pl.DataFrame:
    rows = range(len(labels))
    return pl.DataFrame(
        {"x": [float(k) for k in rows], "y": labels, "who": [f"u{k // 2}" for k in rows]}
    )


@pytest.mark.parametrize("labels", ["aab", "aabb", "aaaab", "abbbbbbbbb", "aabc", "aaaaaaaaabcd"])
@pytest.mark.parametrize("is_owned", [False, True])
def test_two_classes_stay_and_a_known_one_is_held_out_with_every_seed(
    labels: str, is_owned: bool
) -> None:
    frame = table(list(labels))
    owners = frame["who"] if is_owned else None
    for seed in range(60):
        kept, held = hold_out_rows(frame, 0.2, Draws.seeded(seed), owners, frame["y"])
        assert kept.height + held.height == frame.height
        assert kept["y"].n_unique() >= 2
        assert set(held["y"]) & set(kept["y"])
        if is_owned:
            assert set(held["who"]) <= set(kept["who"])
        else:
            assert held.height == max(1, round(0.2 * frame.height))


def test_a_table_that_needs_no_mending_is_held_out_as_without_labels() -> None:
    frame = table(["a", "b"] * 40)
    for seed in range(10):
        for owners in (None, frame["who"]):
            plain = hold_out_rows(frame, 0.2, Draws.seeded(seed), owners)
            looked = hold_out_rows(frame, 0.2, Draws.seeded(seed), owners, frame["y"])
            assert all(one.equals(other) for one, other in zip(plain, looked, strict=True))


def test_as_many_rows_are_left_to_train_on_whatever_the_seed() -> None:
    frame = table([None if k % 3 == 0 else "ab"[k % 2] for k in range(90)])
    data = Data(source=GIVEN, columns=COLUMNS, clients=5000)
    assert {load(data, Draws.seeded(seed), frame).train.height for seed in range(20)} == {48}
    validated = Data(source=GIVEN, columns=COLUMNS, clients=5000, validation=0.25)
    assert {
        find_most_clients(load(validated, Draws.seeded(seed), frame), validated)
        for seed in range(20)
    } == {36}


def test_test_rows_without_labels_leave_the_split_to_chance() -> None:
    """As in a file from a competition, whose test rows have no labels."""
    frame = table(["a", "b"] * 20 + [None] * 10).with_columns(
        pl.Series("split", ["train"] * 40 + ["test"] * 10)
    )
    found = load(
        Data(source=GIVEN, columns=Columns(numeric=("x",), label="y", split="split")),
        Draws.seeded(0),
        frame,
    )
    assert (found.train.height, found.test.height) == (32, 8)


@pytest.mark.parametrize(
    ("data", "most"),
    [
        (Data(source=GIVEN, columns=COLUMNS, clients=10), 10),
        (Data(source=GIVEN, columns=COLUMNS, clients=999), 80),
        (Data(source=GIVEN, columns=COLUMNS, clients=999, limit=30), 30),
        (Data(source=GIVEN, columns=COLUMNS, clients=999, partition="dirichlet"), 80),
        (Data(source=GIVEN, columns=COLUMNS, clients=999, partition="quantile", by="x"), 80),
        (
            Data(
                source=GIVEN,
                columns=Columns(numeric=("x",), label="y", client="who"),
                partition="client",
            ),
            50,
        ),
    ],
)
def test_the_most_clients_of_a_table(data: Data, most: int) -> None:
    assert find_most_clients(load(data, Draws.seeded(0), table(["a", "b"] * 50)), data) == most
