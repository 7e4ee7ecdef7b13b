"""The rows a run works on, cleaned, with the meaning of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tacit.plan import Columns


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How cells of numeric columns were read in training, so that later rows are read alike.

    `commas` says of columns with numbers like "1,5" whether commas are "decimal" or "thousands" marks.
    """

    commas: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain values, ready for JSON."""
        return {"commas": dict(self.commas)}

    @staticmethod
    def from_dict(tree: Mapping[str, Any]) -> Habits:
        """Return what `to_dict` wrote."""
        return Habits(commas={str(name): str(mark) for name, mark in tree.get("commas", {}).items()})


@dataclass(frozen=True, kw_only=True)
class Table:
    """Train and test rows, what their columns are for, and a sentence saying what was read.

    `habits` says how numbers were read, for rows that come later.

    Guarantees: every column named in `columns` exists in both halves; text is String without nulls; numeric columns
    are finite numbers, or null where a cell has none; the label and the categorical columns are Enums whose categories
    stand in natural order (numbers by value, words by alphabet); every class of the label has train rows; images are
    Arrays of uint8.
    """

    train: pl.DataFrame
    test: pl.DataFrame
    columns: Columns
    source: str
    habits: Habits = field(default_factory=Habits)
