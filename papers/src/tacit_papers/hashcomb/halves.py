"""The rows behind the tables, with a column that marks test rows: as the authors prepared them, or
split without overlap.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
import polars as pl

from tacit.data.download.store import read_data_set

Kind = Literal["authors", "honest"]

LABEL, HALF = "label", "half"
TEST_FOLDS = (9, 10)
_HONEST_TEST = 0.2
_MOST_ROWS = 26_250  # of Coronary's 70,000; the authors' folds hold as many
_ORIGINALS = {"spam": ("spambase", "spam"), "cardio": ("cardio", "cardio")}
_WORDS = ("proto", "service", "conn_state")
_ATTACKS = {"okiru": "Okiru", "hps": "PartOfAHorizontalPortScan"}


@cache
def halves(kind: Kind, name: str) -> pl.DataFrame:
    """A data set's rows as numbers from 0 to 1 with `label` and `half` (train or test).

    `authors`: the ten folds of the prototype, the last two for testing; duplicates occur in both
    halves. `honest`: the original set; duplicates stay in one half, and columns are scaled by the
    range of the training rows.
    """
    return _authors(name) if kind == "authors" else _scale_columns(_apart(_original(name)))


def inputs_of(table: pl.DataFrame) -> list[str]:
    """The names of the input columns."""
    return [column for column in table.columns if column not in (LABEL, HALF)]


def positives(table: pl.DataFrame) -> float:
    """The share of test rows with label 1."""
    labels = table.filter(pl.col(HALF) == "test")[LABEL]
    return int((labels == 1).sum()) / len(labels)


def seen(table: pl.DataFrame) -> float:
    """The share of test rows that also occur among the training rows."""
    sides = table.partition_by(HALF, as_dict=True, include_key=False)
    train, test = sides["train",], sides["test",]
    return test.join(train.unique(), on=test.columns, how="semi").height / test.height


def _authors(name: str) -> pl.DataFrame:
    table, _ = read_data_set(f"hashcomb_{name}")
    half = pl.when(pl.col("fold").is_in(TEST_FOLDS)).then(pl.lit("test")).otherwise(pl.lit("train"))
    return table.with_columns(half.alias(HALF)).drop("fold")


def _original(name: str) -> pl.DataFrame:
    if name in _ORIGINALS:
        source, label = _ORIGINALS[name]
        table, _ = read_data_set(source)
        table = table.drop("id", strict=False).rename({label: LABEL})
        return table[np.sort(np.random.default_rng(1).permutation(table.height)[:_MOST_ROWS])]
    table, _ = read_data_set("iot23")
    flows = table.filter(pl.col("detailed-label").is_in(["Benign", _ATTACKS[name]])).with_columns(
        pl.col(_WORDS).fill_null("-")
    )
    words = [
        pl.col(column).cast(pl.Enum(flows[column].unique().sort())).to_physical()
        for column in _WORDS
    ]
    attack = (pl.col("detailed-label") == _ATTACKS[name]).cast(pl.Int8).alias(LABEL)
    return flows.with_columns(*words, attack).drop("detailed-label")


def _apart(table: pl.DataFrame) -> pl.DataFrame:
    """Mark a fifth of the distinct rows of each label, and all their duplicates, as test rows."""
    distinct = table.unique(maintain_order=True)
    order = np.random.default_rng(1).permutation(distinct.height)
    marked = distinct.with_columns(pl.Series("place", order)).with_columns(
        pl.when(pl.col("place").rank("ordinal").over(LABEL) <= _HONEST_TEST * pl.len().over(LABEL))
        .then(pl.lit("test")).otherwise(pl.lit("train")).alias(HALF)
    ).drop("place")  # fmt: skip
    return table.join(marked, on=table.columns, how="left", maintain_order="left", nulls_equal=True)


def _scale_columns(table: pl.DataFrame) -> pl.DataFrame:
    train = table.filter(pl.col(HALF) == "train")
    scaled = []
    for name in inputs_of(table):
        low, high = (float(end) for end in (train[name].min(), train[name].max()))  # type: ignore[arg-type]
        scaled.append(
            ((pl.col(name).cast(pl.Float64) - low) / (high - low if high > low else 1.0)).clip(
                0.0, 1.0
            )
        )
    return table.with_columns(scaled)
