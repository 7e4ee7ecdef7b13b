"""A first draft of a schema for a table, as commented TOML.

Ends of ranges are rounded outward, and values that few clients have are left out: a plan is shown
to others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from tacit.column_statistics.common_values import LEAST_CLIENTS, find_common_values
from tacit.column_statistics.rounded_range import round_outward
from tacit.column_statistics.statistics import sort_naturally
from tacit.data.clean import to_float, to_text
from tacit.plan.presets.starter import quoted
from tacit.plan.tables.rows.schema.column import ColumnSchema, fits_type

_HEAD = """
# What the cells of columns are at every site, so that sites which code them differently are mapped or refused, and so
# that classes, categories and ranges are not read from rows. A draft from this table: check it, remove "# " to use it,
# and name the units. docs/guides/data.md explains the keys; `tacit site check DIR PLAN` compares a site's rows with it.
# [schema]
# misfits = "refuse"                    # or "drop": rows that do not fit are left out"""
_MOST_COLUMNS, _MOST_VALUES = 50, 50
_NUMBER_CODES = (-9999.0, -999.0, -99.0, 9999.0, 99999.0)
_WORD_CODES = ("NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "None", "?", "-", ".", "unknown")
"""Cells that often stand for a missing value."""


def draft_schema(frame: pl.DataFrame, roles: Mapping[str, str]) -> str:
    """Draft the schema of a table whose columns have these roles; empty if there is nothing to
    state.
    """
    client = next((name for name, role in roles.items() if role == "client"), None)
    found = [name for name, role in roles.items() if role in ("label", "numeric", "categorical")]
    if not found:
        return ""
    lines = [_HEAD]
    for name in found[:_MOST_COLUMNS]:
        settings = (
            _describe_numbers(frame[name])
            if roles[name] == "numeric"
            else [*_describe_names(frame, name, client)]
        )
        lines += ["#", f"# [schema.columns.{quoted(name)}]", *(f"# {one}" for one in settings)]
    if len(found) > _MOST_COLUMNS:
        lines.append(f"# and {len(found) - _MOST_COLUMNS:,} more columns")
    return "\n".join(lines) + "\n"


def _describe_numbers(series: pl.Series) -> list[str]:
    """Type, range and codes of missing values of a numeric column."""
    if series.dtype == pl.Boolean:
        return ['type = "boolean"']
    if series.dtype.is_temporal():
        return ['type = "date"']
    values = to_float(series)
    values = values[np.isfinite(values)]
    codes = [
        code for code in _NUMBER_CODES if (values == code).any() and _stands_apart(values, code)
    ]
    values = values[~np.isin(values, codes)]
    words = [] if series.dtype.is_numeric() else _find_word_codes(series)
    is_whole = bool(len(values)) and bool((values == np.round(values)).all())
    said = [f'type = "{"integer" if is_whole else "number"}"']
    if len(values) and values.min() < values.max():
        low, high = round_outward(float(values.min()), float(values.max()))
        said += [f"minimum = {low:.15g}", f"maximum = {high:.15g}"]
    missing = [quoted(f"{code:g}") for code in codes] + [quoted(word) for word in words]
    return [*said, *([f"missing_values = [{', '.join(missing)}]"] if missing else [])]


def _stands_apart(values: np.ndarray[tuple[int], np.dtype[np.float64]], code: float) -> bool:
    """Whether a number is far from all others, as the code of a missing value is."""
    others = values[~np.isin(values, _NUMBER_CODES)]
    if not len(others):
        return False
    low, high = float(others.min()), float(others.max())
    return code < low - (high - low) or code > high + (high - low)


def _find_word_codes(series: pl.Series) -> list[str]:
    present = set(to_text(series).str.strip_chars().drop_nulls().unique().to_list())
    return [word for word in _WORD_CODES if word in present]


def _describe_names(frame: pl.DataFrame, name: str, client: str | None) -> Iterator[str]:
    """Type and values of a label or a categorical column."""
    if frame[name].dtype.is_nested():
        yield 'type = "string"'
        return
    cells = frame.with_columns(to_text(frame[name]).str.strip_chars())
    known = find_common_values(cells, name, client, LEAST_CLIENTS).values
    codes = [word for word in _WORD_CODES if word in known]
    known = sort_naturally(value for value in known if value not in codes)
    whole = bool(known) and all(fits_type(ColumnSchema(type="integer"), one) for one in known)
    if {*known} == {"true", "false"}:
        yield 'type = "boolean"'
    else:
        yield f'type = "{"integer" if whole else "string"}"'
        if len({float(one) if whole else one for one in known}) == len(known) > 1:
            yield from _list_values(known)
    if codes:
        yield f"missing_values = [{', '.join(map(quoted, codes))}]"


def _list_values(known: list[str]) -> Iterator[str]:
    if len(known) <= _MOST_VALUES:
        yield f"enum = [{', '.join(map(quoted, known))}]  # values of at least {LEAST_CLIENTS} clients"
        yield f'mapping = {{}}                          # {{ "as a site writes it" = {quoted(known[0])} }}'
