"""Column roles: a named data set's defaults overridden by the plan, checked against the existing
columns.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Sequence

import polars as pl

from tacit.errors import DataError, MisfitError, did_you_mean
from tacit.plan import Columns, Data

_INPUTS = ("text", "numeric", "categorical")
_MARKS = ("quasi", "allow_personal")
"""Keys that are not roles: a column with another role may also be listed in them."""
_UNSEEN = ("Cc", "Zl", "Zp")
_PLAIN = re.compile(r"[A-Za-z0-9_./ -]{1,60}")
"""Names of columns that a server's record quotes as they are."""


def merge_roles(default: Columns, asked: Columns) -> Columns:
    """Override default roles with the plan's; a column with a role in the plan loses its default
    one.
    """
    claimed = set(_list_columns(asked))
    roles = dataclasses.asdict(default)
    for role, value in roles.items():
        if role in _MARKS:
            continue
        if isinstance(value, tuple):
            roles[role] = tuple(name for name in value if name not in claimed)
        elif value in claimed:
            roles[role] = None
    return Columns(
        **{**roles, **{role: value for role, value in dataclasses.asdict(asked).items() if value}}
    )


def check_column_names(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """Raise DataError if a column name has a control character or a line end; return the table
    otherwise.
    """
    for name in frame.columns:
        if any(unicodedata.category(letter) in _UNSEEN for letter in name):
            raise DataError(
                f"{source}: the column name {name!r} has a control character; rename that column"
            )
    return frame


def find_free_name(wish: str, taken: list[str]) -> str:
    """Find a column name that is not taken by appending underscores to `wish`."""
    while wish in taken:
        wish += "_"
    return wish


def _list_columns(columns: Columns) -> list[str]:
    found: list[str] = []
    for role, value in dataclasses.asdict(columns).items():
        if role not in _MARKS:
            found += value if isinstance(value, tuple) else [value] if value else []
    return found


def check_roles(frame: pl.DataFrame, columns: Columns, data: Data, *, learns: bool = True) -> None:
    """Raise DataError if a named column does not exist, or if a model would have no input or label."""
    have = list(frame.columns)
    shown = _list_some(have)
    for role, value in dataclasses.asdict(columns).items():
        for name in value if isinstance(value, tuple) else (value,) if value else ():
            if name not in have:
                raise _build_missing_error(f"data.columns.{role}", name, columns, have)
    if data.by and data.by not in have:
        raise _build_missing_error("data.by", data.by, columns, have)
    asked = data.share.k_column if data.share else None
    if asked is not None and asked not in have:
        raise _build_missing_error("data.share.k_column", asked, columns, have)
    if learns and columns.label is None:
        raise DataError(
            f"data.columns.label must name the column to predict; the columns are {shown}"
        )
    if learns and not columns.image and not any(getattr(columns, role) for role in _INPUTS):
        raise DataError(
            "data.columns must name a text, numeric, categorical or image column to learn from;"
            f" the columns are {shown}"
        )
    if data.partition == "client" and not columns.client:
        raise DataError(
            f"data.partition = 'client' requires data.columns.client; the columns are {shown}"
        )


def _build_missing_error(key: str, name: str, columns: Columns, have: list[str]) -> MisfitError:
    return MisfitError(
        f"{key} = {name!r}: there is no such column; the columns are"
        f" {_list_some(have)}.{did_you_mean(name, have)}",
        f"{name_publicly(_list_columns(columns), name)} missing column",
    )


def _list_some(names: list[str]) -> str:
    return ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")


def name_publicly(columns: Sequence[str], column: str) -> str:
    """A column's name as the server quotes it, or its place among the columns of the plan."""
    if _PLAIN.fullmatch(column):
        return column
    return f"column {columns.index(column) + 1}" if column in columns else "a column"
