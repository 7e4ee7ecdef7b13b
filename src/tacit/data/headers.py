"""Detect whether a table's first line is a header, so that no cell content becomes a column name."""

from __future__ import annotations

import polars as pl

from tacit.data.roles.column_kinds import detect_kind, drop_blanks

_FEWEST_ROWS = 5
_WORDS, _LETTERS = 8, 80
_REPEATED = 20


def seems_headerless(first: list[str], rest: pl.DataFrame) -> bool:
    """Whether the first line looks like data.

    A word above numbers is a name, so there is a header. Otherwise a number above numbers, a cell
    that recurs below, or a long sentence shows that there is none.
    """
    if rest.height < _FEWEST_ROWS or not any(cell.strip() for cell in first):
        return False
    found = False
    for cell, name in zip(first, rest.columns, strict=False):
        below = drop_blanks(rest[name])
        numbers, number = (
            detect_kind(below) == "number",
            detect_kind(pl.Series([cell.strip()])) == "number",
        )
        if numbers and cell.strip() and not number:
            return False
        found |= (numbers and number) or _is_sentence(cell) or _recurs(cell.strip(), below)
    return found


def _is_sentence(cell: str) -> bool:
    return len(cell.split()) >= _WORDS or len(cell) > _LETTERS


def _recurs(cell: str, below: pl.Series) -> bool:
    few = (
        below.dtype == pl.String
        and 0 < below.n_unique() <= _REPEATED
        and below.n_unique() <= len(below) / 2
    )
    return bool(few and cell and (below == cell).any())
