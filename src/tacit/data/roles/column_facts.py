"""Facts about the cells of one column from which its role is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.data.personal.codes import are_codes, are_id_numbers
from tacit.data.personal.detect import Personal, find_personal
from tacit.data.roles.column_kinds import Kind, detect_kind, drop_blanks, numbers_the_rows
from tacit.data.roles.column_words import names_amounts, names_things, split_words

if TYPE_CHECKING:
    import polars as pl

_UNSPACED = (
    r"[\u0E01-\u0EDF\u1000-\u109F\u1780-\u17DD\u3041-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF]"
)
"""Letters of scripts without spaces between words: two of them count as a word."""
_LOOKED_AT = 1000


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """Facts about the cells of one column."""

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
    has_ids: bool

    @property
    def unique(self) -> bool:
        """Whether each row has a different value."""
        return self.filled > 1 and self.distinct == self.filled

    @property
    def repeats(self) -> bool:
        """Whether there are several values, each in several rows on average."""
        return 2 <= self.distinct <= self.filled / 2


def look_at_column(column: pl.Series) -> ColumnFacts:
    """Collect facts about all non-blank cells of a column."""
    cells = drop_blanks(column)
    kind = detect_kind(cells)
    texts = cells if kind == "text" else None
    return ColumnFacts(
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
        has_ids=_has_ids(cells, kind, split_words(column.name)),
    )


def _count_words(texts: pl.Series) -> float:
    """Mean number of words per cell, between spaces; in scripts without spaces, half the letters."""
    spaced = texts.str.split(" ").list.len()
    letters = texts.str.count_matches(_UNSPACED)
    return _mean(spaced) + _mean(letters) / 2


def _has_fractions(cells: pl.Series) -> bool:
    import polars as pl

    if cells.dtype.is_integer():
        return False
    numbers = (
        cells.cast(pl.String)
        .str.replace(",", ".", literal=True)
        .cast(pl.Float64, strict=False)
        .drop_nulls()
    )
    return int((numbers != numbers.round()).sum()) > len(numbers) / 10


def _has_ids(cells: pl.Series, kind: Kind, words: Sequence[str]) -> bool:
    """Whether cells look like ids that recur in several rows, unless the column's name says
    otherwise.
    """
    import polars as pl

    values = cells.head(0) if kind not in ("text", "number") else cells.unique(maintain_order=True)
    if not 2 <= len(values) <= len(cells) / 2 or names_things(words) or names_amounts(words):
        return False
    if kind == "text":
        return are_codes(values.head(_LOOKED_AT).to_list())
    if _has_fractions(cells):
        return False
    numbers = values.head(_LOOKED_AT).cast(pl.Float64, strict=False).drop_nulls().drop_nans()
    return are_id_numbers([int(number) for number in numbers.to_list() if abs(number) < 2**63])


def _mean(values: pl.Series) -> float:
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else 0.0
