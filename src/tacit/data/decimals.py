"""Numbers in text cells: which decimal mark a file has, and what each cell says under it.

What becomes of a cell depends on the cell and on the decimal mark, on no other cell. A mark is needed for cells such as 1,234
and 1.234 only; every other cell can be read in one way, whichever the mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, assert_never

import polars as pl

from tacit.errors import DataError
from tacit.number_format import DecimalMark, NumberFormat

_SIGN, _POWER = r"^[+-]?", r"([eE][+-]?\d+)?$"
_UNCLEAR = rf"{_SIGN}[1-9]\d{{0,2}}[.,]\d{{3}}$"
_FIRST = r"[1-9]\d{0,2}"
_COMMA = rf"{_SIGN}(?:\d+,\d+|,\d+){_POWER}|{_SIGN}{_FIRST}(?:\.\d{{3}})+,\d+$|{_SIGN}{_FIRST}(?:\.\d{{3}}){{2,}}$"
_POINT = rf"{_SIGN}(?:\d+\.\d*|\.\d+){_POWER}|{_SIGN}{_FIRST}(?:,\d{{3}})+\.\d+$|{_SIGN}{_FIRST}(?:,\d{{3}}){{2,}}$"


class Written(NamedTuple):
    """What the cells of one column show of the file's decimal mark, as one truth value per row."""

    point: pl.Series
    comma: pl.Series
    unclear: pl.Series


def look_at_cells(text: pl.Series) -> Written:
    """Return which cells need a decimal point, which need a decimal comma, and which are a number under either."""
    unclear = text.str.contains(_UNCLEAR).fill_null(False)
    comma, point = (text.str.contains(pattern).fill_null(False) & ~unclear for pattern in (_COMMA, _POINT))
    return Written(point, comma, unclear)


def choose_formats(columns: Mapping[str, Written], pinned: DecimalMark | None, vouched: bool) -> dict[str, NumberFormat]:
    """Return how the numbers of each column are read.

    `pinned` is what a plan or an owner says. Where nobody does, a column is read as its own cells show, one whose cells are all
    unclear as those of the other columns do, and with a decimal point if these show nothing or both. Raises DataError for a column
    that shows both marks and has unclear cells; and where `pinned` is not the word of the file's owner (`vouched`), for one that
    shows the other mark and has unclear cells.
    """
    shown = {name: (bool(one.point.any()), bool(one.comma.any()), bool(one.unclear.any())) for name, one in columns.items()}
    anywhere = any(comma for _, comma, _ in shown.values()) and not any(point for point, _, _ in shown.values())
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
        raise DataError(
            f"column {name!r} has numbers with a decimal point, numbers with a decimal comma, and cells that look like 1,234 or "
            "1.234 and could be either; set data.decimal to 'point' or 'comma', at a site decimal in site.toml"
        )


def _refuse_other(name: str, pinned: DecimalMark, other: bool) -> None:
    if other:
        raise DataError(
            f"column {name!r}: the plan has data.decimal = {pinned!r}, this file seems to have the other mark, and some cells look "
            "like 1,234 or 1.234, which are other numbers then. Look at it, and set decimal to 'point' or 'comma' in site.toml"
        )


def read_cells(text: pl.Series, mark: DecimalMark) -> pl.Series:
    """Return numbers, null where a cell has none; integers are floats too, so that one cell's fraction changes no other's kind."""
    written = look_at_cells(text)
    with_comma = written.comma | written.unclear if mark == "comma" else written.comma
    plain = text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    grouped = text.str.replace_all(",", "", literal=True)
    other = text.to_frame("cell").select(
        pl.when(with_comma).then(plain).when(written.point | written.unclear).then(grouped).otherwise(pl.col("cell"))
    )
    return other.to_series().cast(pl.Float64, strict=False).alias(text.name)
