"""The cleaned rows of a run, with the roles of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tacit.column_statistics.number_format import NumberFormat
from tacit.plan import Columns


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How cells of numeric columns were read in training, so that later rows are read in the same
    way.

    `behind` counts the clients whose cells show a decimal comma anywhere in the file, and those
    with ambiguous cells in a column; without a column of clients, rows are counted. `released`
    states what was read from the rows in the clear for this.
    """

    formats: Mapping[str, NumberFormat] = field(default_factory=dict)
    behind: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    released: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, ready for JSON."""
        return {"decimal": {name: one.mark for name, one in self.formats.items()}}

    @staticmethod
    def from_dict(tree: Mapping[str, Any]) -> Habits:
        """Read what `to_dict` wrote."""
        return Habits(
            formats={
                str(name): NumberFormat(comma=mark == "comma")
                for name, mark in tree.get("decimal", {}).items()
            }
        )


@dataclass(frozen=True, kw_only=True)
class Table:
    """Train and test rows, the roles of their columns, and a sentence saying what was read.

    `habits` says how numbers were read, for rows that come later. `public`: the rows are those of a
    named, public data set. `left_out` says which rows were left out because they do not fit the plan's
    schema.

    Guarantees: every column named in `columns` exists in both halves; text is String without nulls;
    numeric columns are finite numbers, or null where a cell has none; the label and the categorical
    columns are Enums whose categories are in natural order (numbers by value, words
    alphabetically); every class of the label has train rows; images are Arrays of uint8.
    """

    train: pl.DataFrame
    test: pl.DataFrame
    columns: Columns
    source: str
    habits: Habits = field(default_factory=Habits)
    public: bool = False
    left_out: tuple[str, ...] = ()
