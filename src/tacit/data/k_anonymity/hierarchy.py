"""Generalise values before disclosure: ranges, top-coding, masked suffixes, a hierarchy from a CSV
file, or suppression.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from tacit.data.clean import to_text
from tacit.errors import DataError
from tacit.plan.tables.rows.share import SUPPRESS, rule_problem

HIDDEN = "*"


def generalise(frame: pl.DataFrame, rules: dict[str, str]) -> pl.DataFrame:
    """Generalise the columns that have a rule; suppressed columns are removed.

    `ranges 10`: the mid-point of a range of that width. `top 60`: at most that number. `prefix 3`:
    the first characters, the rest masked. `csv FILE LEVEL`: the entry of the file's row for the
    value in that column (0 is the value itself; unknown values are masked). `suppress`: the column
    is not released.
    """
    for column, rule in rules.items():
        if column not in frame.columns:
            raise DataError(
                f"data.share.generalise names {column!r}, which is not a released column; the"
                f" released columns are {', '.join(frame.columns)}"
            )
        way, rest = _parse_rule(column, rule)
        frame = (
            frame.drop(column)
            if way == SUPPRESS
            else frame.with_columns(_WAYS[way](frame, column, rest).alias(column))
        )
    return frame


def find_generalised_type(kind: pl.DataType, rule: str | None) -> pl.DataType:
    """Find the type of a released column after its rule."""
    match (rule or "").split():
        case ["ranges" | "top", *_]:
            return pl.Float64()
        case ["prefix" | "csv", *_]:
            return pl.String()
        case _:
            return kind


def _parse_rule(column: str, rule: str) -> tuple[str, str]:
    wrong = rule_problem(rule)
    if wrong:
        raise DataError(f"data.share.generalise.{column} {wrong}, got {rule!r}")
    way, _, rest = rule.strip().partition(" ")
    return way, rest.strip()


def _ranges(frame: pl.DataFrame, column: str, rest: str) -> pl.Expr:
    width = float(rest)
    _needs_numbers(frame, column, "ranges")
    # Integers 30 to 39 have their middle at 34.5. The rule alone decides this: a fraction in one
    # row moves no other.
    half = (width - 1) / 2 if width == int(width) else width / 2
    return (pl.col(column) / width).floor() * width + half


def _top(frame: pl.DataFrame, column: str, rest: str) -> pl.Expr:
    _needs_numbers(frame, column, "top")
    return pl.col(column).cast(pl.Float64).clip(upper_bound=float(rest))


def _needs_numbers(frame: pl.DataFrame, column: str, way: str) -> None:
    if not frame.schema[column].is_numeric():
        raise DataError(
            f"data.share.generalise.{column} = '{way} …' applies to numbers, and the column holds"
            f" {frame.schema[column]}; use 'prefix', 'csv' or 'suppress'"
        )


def _prefix(frame: pl.DataFrame, column: str, rest: str) -> pl.Expr:
    return pl.concat_str(pl.lit(_cells(frame, column)).str.slice(0, int(rest)), pl.lit(HIDDEN))


def _csv(frame: pl.DataFrame, column: str, rest: str) -> pl.Expr:
    name, _, last = rest.rpartition(" ")
    path, level = Path(name.strip()), int(last)
    try:
        ladder = pl.read_csv(path, has_header=False, infer_schema=False, separator=_separator(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"data.share.generalise.{column}: {path} cannot be read as CSV"
            f" ({type(error).__name__}); check the file"
        ) from None
    if level >= ladder.width:
        raise DataError(
            f"data.share.generalise.{column}: {path} has levels 0 to {ladder.width - 1}, not"
            f" {level}; lower it"
        )
    known = ladder.unique(ladder.columns[0], keep="first", maintain_order=True)
    values, coarser = known.to_series(0).str.strip_chars(), known.to_series(level).str.strip_chars()
    return pl.lit(_cells(frame, column)).replace_strict(
        values, coarser, default=HIDDEN, return_dtype=pl.String
    )


def _cells(frame: pl.DataFrame, column: str) -> pl.Series:
    """Convert a column to text, integers without a decimal mark."""
    series = frame[column]
    return to_text(series) if series.dtype.is_float() else series.cast(pl.String)


def _separator(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return ";" if ";" in file.readline() else ","


_WAYS: dict[str, Callable[[pl.DataFrame, str, str], pl.Expr]] = {
    "ranges": _ranges,
    "top": _top,
    "prefix": _prefix,
    "csv": _csv,
}
