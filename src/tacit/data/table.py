"""The rows a run works on, cleaned, with the meaning of their columns."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tacit.plan import Columns


@dataclass(frozen=True, kw_only=True)
class Table:
    """Train and test rows, what their columns are for, and a sentence saying what was read.

    `released` names what was read from train rows in the clear to fill holes.

    Guarantees: every column named in `columns` exists in both halves; text is String without nulls; numeric columns
    are numbers without nulls, NaN or infinities; the label and the categorical columns are Enums whose categories
    stand in natural order (numbers by value, words by alphabet); every class of the label has train rows; images are
    Arrays of uint8.
    """

    train: pl.DataFrame
    test: pl.DataFrame
    columns: Columns
    source: str
    released: tuple[str, ...] = ()
