"""What the cells of one column show, as far as its role is guessed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.data.column_kinds import Kind, kind_of, numbers_the_rows, without_blanks
from tacit.data.column_words import split_words
from tacit.data.personal import Personal, find_personal

if TYPE_CHECKING:
    import polars as pl

_UNSPACED = r"[\u0E01-\u0EDF\u1000-\u109F\u1780-\u17DD\u3041-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF]"
"""Letters of scripts that write no spaces: two of them count as a word."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the cells show of one column."""

    name: str
    words: tuple[str, ...]
    kind: Kind
    filled: int
    distinct: int
    words_per_cell: float
    letters_per_cell: float
    numbers_rows: bool
    has_fractions: bool
    personal: Personal | None

    @property
    def unique(self) -> bool:
        """Whether each row has another value."""
        return self.filled > 1 and self.distinct == self.filled

    @property
    def repeats(self) -> bool:
        """Whether there are several values, each in several rows on average."""
        return 2 <= self.distinct <= self.filled / 2


def look_at_column(column: pl.Series) -> Facts:
    """Look at all cells of a column that hold something."""
    cells = without_blanks(column)
    kind = kind_of(cells)
    texts = cells if kind == "text" else None
    return Facts(
        name=column.name,
        words=split_words(column.name),
        kind=kind,
        filled=len(cells),
        distinct=cells.n_unique() if kind != "other" else len(cells),
        words_per_cell=_count_words(texts) if texts is not None else 0.0,
        letters_per_cell=_mean(texts.str.len_chars()) if texts is not None else 0.0,
        numbers_rows=kind == "number" and numbers_the_rows(cells),
        has_fractions=kind == "number" and _has_fractions(cells),
        personal=find_personal(column),
    )


def _count_words(texts: pl.Series) -> float:
    """Words per cell, between spaces; in scripts that write none, half the letters."""
    spaced = texts.str.split(" ").list.len()
    letters = texts.str.count_matches(_UNSPACED)
    return _mean(spaced) + _mean(letters) / 2


def _has_fractions(cells: pl.Series) -> bool:
    import polars as pl

    if cells.dtype.is_integer():
        return False
    numbers = cells.cast(pl.String).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False).drop_nulls()
    return int((numbers != numbers.round()).sum()) > len(numbers) / 10


def _mean(values: pl.Series) -> float:
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else 0.0
