"""Does a table's first line hold names, or is it a row like the others? Somebody's words must not become a column's name."""

from __future__ import annotations

import polars as pl

from tacit.data.column_kinds import kind_of, without_blanks

_FEWEST_ROWS = 5
_WORDS, _LETTERS = 8, 80
_REPEATED = 20


def seems_headerless(first: list[str], rest: pl.DataFrame) -> bool:
    """Return whether the first line looks like a row.

    A word above numbers is a name, so there is a header. Otherwise a number above numbers, a cell that comes back again and again
    below, or a long sentence says that there is none.
    """
    if rest.height < _FEWEST_ROWS or not any(cell.strip() for cell in first):
        return False
    found = False
    for cell, name in zip(first, rest.columns, strict=False):
        below = without_blanks(rest[name])
        numbers, number = kind_of(below) == "number", kind_of(pl.Series([cell.strip()])) == "number"
        if numbers and cell.strip() and not number:
            return False
        found |= (numbers and number) or _is_said(cell) or _comes_back(cell.strip(), below)
    return found


def _is_said(cell: str) -> bool:
    return len(cell.split()) >= _WORDS or len(cell) > _LETTERS


def _comes_back(cell: str, below: pl.Series) -> bool:
    few = below.dtype == pl.String and 0 < below.n_unique() <= _REPEATED and below.n_unique() <= len(below) / 2
    return bool(few and cell and (below == cell).any())
