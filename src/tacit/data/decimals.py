"""Decimal marks in text cells: detection, and parsing under a given mark.

The value of a cell depends only on the cell and the decimal mark. Only cells such as 1,234 and
1.234 are ambiguous; all other cells have one reading under either mark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, assert_never

import polars as pl

from tacit.column_statistics.number_format import DecimalMark, NumberFormat
from tacit.errors import MisfitError

_SIGN, _POWER = r"^[+-]?", r"([eE][+-]?\d+)?$"
_UNCLEAR = rf"{_SIGN}[1-9]\d{{0,2}}[.,]\d{{3}}$"
_FIRST = r"[1-9]\d{0,2}"
_COMMA = rf"{_SIGN}(?:\d+,\d+|,\d+){_POWER}|{_SIGN}{_FIRST}(?:\.\d{{3}})+,\d+$|{_SIGN}{_FIRST}(?:\.\d{{3}}){{2,}}$"
_POINT = rf"{_SIGN}(?:\d+\.\d*|\.\d+){_POWER}|{_SIGN}{_FIRST}(?:,\d{{3}})+\.\d+$|{_SIGN}{_FIRST}(?:,\d{{3}}){{2,}}$"


class DecimalEvidence(NamedTuple):
    """Evidence for a decimal mark in the cells of one column, as one boolean per row."""

    point: pl.Series
    comma: pl.Series
    unclear: pl.Series


def find_decimal_evidence(text: pl.Series) -> DecimalEvidence:
    """Find the cells that need a decimal point, those that need a decimal comma, and those that are
    numbers under either.
    """
    unclear = text.str.contains(_UNCLEAR).fill_null(False)
    comma, point = (
        text.str.contains(pattern).fill_null(False) & ~unclear for pattern in (_COMMA, _POINT)
    )
    return DecimalEvidence(point, comma, unclear)


def choose_formats(
    columns: Mapping[str, DecimalEvidence],
    pinned: DecimalMark | None,
    vouched: bool,
    is_enough: Callable[[pl.Series], bool] = lambda rows: bool(rows.any()),
) -> dict[str, NumberFormat]:
    """Choose the number format of each column.

    `is_enough` says whether the marked rows are evidence: at a site, those of a single client are
    not, since they would decide how the cells of all others are read.

    `pinned` is set by a plan or an owner. Otherwise a column follows its own unambiguous cells;
    without any, those of the other columns, or a decimal point if these show nothing or both.
    Raises MisfitError for a column that shows both marks and has ambiguous cells; and, unless
    `pinned` comes from the file's owner (`vouched`), for one that shows the other mark and has
    ambiguous cells.
    """
    shown = {
        name: (is_enough(one.point), is_enough(one.comma), is_enough(one.unclear))
        for name, one in columns.items()
    }
    anywhere = any(comma for _, comma, _ in shown.values()) and not any(
        point for point, _, _ in shown.values()
    )
    found = {}
    for name, (point, comma, unclear) in shown.items():
        _refuse_both(name, pinned, point and comma and unclear)
        own = comma and not point if point or comma else anywhere
        if pinned is not None:
            own, unclear_here, unclear = _has_comma(pinned), unclear, False
            _refuse_other(name, pinned, not vouched and unclear_here and (point if own else comma))
        found[name] = NumberFormat(own, unclear)
    return found


def _has_comma(mark: DecimalMark) -> bool:
    match mark:
        case "comma":
            return True
        case "point":
            return False
        case _:
            assert_never(mark)


def _refuse_both(name: str, pinned: DecimalMark | None, both: bool) -> None:
    if both and pinned is None:
        raise MisfitError(
            f"column {name!r} has numbers with a decimal point, numbers with a decimal comma, and"
            " ambiguous cells such as 1,234 or 1.234; set data.decimal to 'point' or 'comma' (at a"
            " site: decimal in site.toml)",
            "both decimal marks in one column",
        )


def _refuse_other(name: str, pinned: DecimalMark, other: bool) -> None:
    if other:
        raise MisfitError(
            f"column {name!r}: the plan has data.decimal = {pinned!r}, but this file seems to use"
            " the other mark, under which cells such as 1,234 or 1.234 are different numbers;"
            " check the file and set decimal to 'point' or 'comma' in site.toml",
            "another decimal mark than the plan",
        )


def parse_cells(text: pl.Series, mark: DecimalMark) -> pl.Series:
    """Parse cells as floats, null where there is no number; integers become floats too, so that
    types do not depend on other cells.
    """
    written = find_decimal_evidence(text)
    with_comma = written.comma | written.unclear if mark == "comma" else written.comma
    plain = text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    grouped = text.str.replace_all(",", "", literal=True)
    other = text.to_frame("cell").select(
        pl.when(with_comma)
        .then(plain)
        .when(written.point | written.unclear)
        .then(grouped)
        .otherwise(pl.col("cell"))
    )
    return other.to_series().cast(pl.Float64, strict=False).alias(text.name)
