"""Rows on which clients judge each other are of the kind that they keep."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data import Table
from tacit.data.k_anonymity import decide_release, find_kept_classes
from tacit.data.k_anonymity.hierarchy import generalise
from tacit.plan import Columns, RowSharing
from tacit.randomness import Draws
from tacit.rows import Clients
from tests.data.k_anonymity.tables import tables

DRAWS = Draws.seeded(0)


def split(clients: Clients, every: int) -> tuple[Clients, Clients]:
    held_out = clients.order % every == 0
    return clients.select(~held_out), clients.select(held_out)


@given(tables(), st.sampled_from(["k_anonymity", "label_k"]), st.sampled_from(["local", "global"]))
def test_no_held_out_row_is_like_a_released_one(drawn, rule, counts) -> None:
    table, everyone = drawn
    settings = RowSharing(k=2, rule=rule, counts=counts, generalise={"age": "ranges 10"})
    kept, held_out = split(everyone, 3)
    release = decide_release(table, kept, settings, DRAWS)
    flags = find_kept_classes(release, table, held_out, settings)
    key = [*release.key, *(["y"] if rule == "label_k" else [])]

    def describe(rows: pl.DataFrame, sizes: np.ndarray) -> list[tuple[object, ...]]:
        owners = np.repeat(np.arange(len(sizes)), sizes)
        own = owners.tolist() if counts == "local" else [0] * len(owners)
        return [(who, *row) for who, row in zip(own, rows.select(key).iter_rows(), strict=True)]

    gone = {
        row
        for row, released in zip(
            describe(release.rows, kept.sizes()), release.disclosed, strict=True
        )
        if released
    }
    ours = generalise(table.train[held_out.order], settings.generalise)
    expected = [row not in gone for row in describe(ours, held_out.sizes())]
    for start, end in pairwise(held_out.starts.tolist()):
        if not any(expected[start:end]):  # a client without such rows judges on all it has
            expected[start:end] = [True] * (end - start)
    assert flags.tolist() == expected
    assert held_out.select(flags).sizes().sum() == sum(expected)


@pytest.mark.parametrize("cell", [None, float("nan"), 1.5])
def test_missing_cells_are_equal_to_each_other_only(cell: float | None) -> None:
    rows = pl.DataFrame(
        {"age": [cell, cell, cell, 7.0], "y": ["a", "b", "a", "b"]},
        schema={"age": pl.Float64, "y": pl.Enum(["a", "b"])},
    )
    table = Table(
        train=rows,
        test=rows.clear(),
        columns=Columns(numeric=("age",), label="y", quasi=("age",)),
        source="",
    )
    kept = Clients(order=np.array([0, 1]), starts=np.array([0, 2]))
    held_out = Clients(order=np.array([2, 3]), starts=np.array([0, 2]))
    settings = RowSharing(k=2)
    release = decide_release(table, kept, settings, DRAWS)
    assert release.disclosed.all()
    assert find_kept_classes(release, table, held_out, settings).tolist() == [False, True]
