"""Detect the type of a column's cells, since a CSV file states none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["text", "number", "truth", "time", "other"]

BLANKS = ("", "na", "n/a", "nan", "null", "none", "?", "-")
_NUMBER = r"^[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?$"
_TIME = r"^(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})([ T].*)?$"


def drop_blanks(column: pl.Series) -> pl.Series:
    """Select the non-blank cells, with white space stripped."""
    import polars as pl

    cells = column.drop_nulls()
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype != pl.String:
        return cells
    cells = cells.str.strip_chars()
    return cells.filter(~cells.str.to_lowercase().is_in(list(BLANKS)))


def detect_kind(cells: pl.Series) -> Kind:
    """Detect the type of cells; text that nearly always parses as a number or a time is one."""
    import polars as pl

    if cells.dtype == pl.Boolean:
        return "truth"
    if cells.dtype.is_numeric():
        return "number"
    if cells.dtype.is_temporal():
        return "time"
    if cells.dtype != pl.String:
        return "other"
    if _share(cells, _NUMBER) >= 0.95:
        return "number"
    return "time" if _share(cells, _TIME) >= 0.95 else "text"


def numbers_the_rows(cells: pl.Series) -> bool:
    """Whether cells are distinct integers without a gap: row numbers, not measurements."""
    import polars as pl

    numbers = cells.cast(pl.Float64, strict=False).drop_nulls()
    if len(numbers) < 2 or len(numbers) != len(cells) or numbers.n_unique() != len(numbers):
        return False
    ends = numbers.min(), numbers.max()
    whole = bool((numbers == numbers.round()).all())
    return (
        whole
        and isinstance(ends[0], float)
        and isinstance(ends[1], float)
        and ends[1] - ends[0] + 1 == len(numbers)
    )


def _share(cells: pl.Series, pattern: str) -> float:
    return int(cells.str.contains(pattern).sum()) / len(cells) if len(cells) else 0.0
