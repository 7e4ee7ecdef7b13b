"""Numeric and categorical columns become numbers.

A missing number becomes the middle of its column's range, a value that depends on no row, or no
token if numbers become tokens. In the columns that `Fitted.missing` names, one more input is 1
where the number is missing and 0 elsewhere; these inputs follow all numbers. A missing
category, or one that the training rows did not have, counts as zero: a block of zeros if one-hot,
the index of the first category if integer codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.features.cells import encode_names, read_names, read_numbers
from tacit.features.fitting import Fitted
from tacit.features.quantise import count_inputs_per_column, list_quantised_columns, quantise_column
from tacit.plan import Columns, Features
from tacit.rows import Dense, Sparse, Vector

Value = TypeVar("Value")

_MIDDLE = 0.5
"""The value of a missing number in a range that is scaled to [0, 1]."""


@dataclass(frozen=True, kw_only=True)
class Slots:
    """One entry per row and source column: a one-hot block has at most one non-zero entry."""

    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    width: int


def count_slots(columns: Columns, settings: Features, fitted: Fitted) -> int:
    """Count the inputs of the numeric and categorical columns."""
    return sum(
        _count_block(name, columns, settings, fitted)
        for name in (*columns.numeric, *columns.categorical)
    ) + len(fitted.missing)


def _count_block(name: str, columns: Columns, settings: Features, fitted: Fitted) -> int:
    if name in columns.numeric:
        return (
            count_inputs_per_column(settings.quantise)
            if settings.quantise and name in list_quantised_columns(columns, settings)
            else 1
        )
    return len(_get_fitted(fitted.categories, name)) if settings.categorical == "onehot" else 1


def encode_slots(
    frame: pl.DataFrame, columns: Columns, settings: Features, fitted: Fitted, secret: bytes = b""
) -> Slots:
    """Encode the numeric columns, the indicators of missing numbers, and the categorical columns."""
    count = len(columns.numeric) + len(fitted.missing) + len(columns.categorical)
    places = np.zeros((len(frame), count), np.int32)
    values = np.zeros((len(frame), count), np.float32)
    at = 0
    for slot, name in enumerate(columns.numeric):
        cells = read_numbers(frame, name)
        places[:, slot], values[:, slot] = at, _scale(name, cells, settings, fitted)
        if settings.quantise and name in list_quantised_columns(columns, settings):
            place, value = quantise_column(name, values[:, slot], settings.quantise, secret)
            unknown = 0.0 if settings.quantise.trained_on == "tokens" else _MIDDLE
            is_unknown = np.isnan(cells)  # its place must not depend on the secret
            places[:, slot] = at + np.where(is_unknown, 0, place)
            values[:, slot] = np.where(is_unknown, unknown, value)
        at += _count_block(name, columns, settings, fitted)
    for slot, name in enumerate(fitted.missing, start=len(columns.numeric)):
        places[:, slot], values[:, slot] = at, np.isnan(read_numbers(frame, name))
        at += 1
    for slot, name in enumerate(
        columns.categorical, start=len(columns.numeric) + len(fitted.missing)
    ):
        known = _get_fitted(fitted.categories, name)
        code = encode_names(read_names(frame, name, "categorical"), known)
        match settings.categorical:
            case "onehot":
                places[:, slot] = at + np.maximum(code, 0)
                values[:, slot] = code >= 0
            case "codes":
                places[:, slot] = at
                values[:, slot] = np.maximum(code, 0) / max(len(known) - 1, 1)
            case _:
                assert_never(settings.categorical)
        at += _count_block(name, columns, settings, fitted)
    return Slots(columns=places, values=values, width=at)


def _scale(name: str, values: NDArray[np.float64], settings: Features, fitted: Fitted) -> Vector:
    """Scale numbers to [0, 1], or [-1, 1] if robust, clamped to the fitted range; or leave them
    unscaled.

    A missing number becomes the middle of the range; unscaled, zero. A column with a single value
    becomes zero.
    """
    match settings.numeric:
        case "raw":
            known = np.nan_to_num(values, nan=0.0)
        case "minmax" | "robust":
            low, high = _get_fitted(fitted.ranges, name)
            known = _to_unit(values, low, high)
            if settings.numeric == "robust" and low < high:
                known = 2 * known - 1
        case _:
            assert_never(settings.numeric)
    if settings.numeric == "raw" and np.any(np.abs(known) > np.finfo(np.float32).max):
        raise DataError(
            f"features(numeric={name!r}): a value exceeds float32; use features.numeric = 'minmax'"
        )
    return known.astype(np.float32)


def _to_unit(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    if not low < high:
        return np.zeros(len(values))
    # Halved first, because the distance of two large doubles may be larger than any double.
    scaled = (np.clip(values, low, high) / 2 - low / 2) / (high / 2 - low / 2)
    return np.nan_to_num(scaled, nan=_MIDDLE)


def _get_fitted(kept: Mapping[str, Value], name: str) -> Value:
    if name not in kept:
        raise DataError(
            f"features({name}) was not fitted, only {', '.join(kept) or 'nothing'}; fit with the"
            " same plan"
        )
    return kept[name]


def to_matrix(entries: Slots) -> Dense:
    """Convert the entries to a dense matrix."""
    full = np.zeros((len(entries.columns), entries.width), np.float32)
    np.put_along_axis(full, entries.columns.astype(np.int64), entries.values, axis=1)
    return Dense(matrix=full, width=entries.width)


def build_empty_text(rows: int) -> Sparse:
    """Build an empty text part for rows without text."""
    return Sparse(
        starts=np.zeros(rows + 1, np.int64), columns=np.zeros(0, np.int32), values=None, width=0
    )


def append_slots(text: Sparse, entries: Slots) -> Sparse:
    """Append the non-zero entries to the text part of each row."""
    stored = entries.values != 0
    extra = stored.sum(axis=1)
    starts = text.starts + np.concatenate([[0], np.cumsum(extra)])
    # Where the extra entries of each row go: its last places. The text fills all others, in the
    # order it has.
    is_text = np.ones(starts[-1], bool)
    rank = np.cumsum(stored, axis=1) - 1
    is_text[((starts[1:] - extra)[:, None] + rank)[stored]] = False
    columns = np.empty(starts[-1], np.int32)
    values = np.ones(starts[-1], np.float32)
    columns[is_text] = text.columns
    if text.values is not None:
        values[is_text] = text.values
    columns[~is_text] = entries.columns[stored] + text.width
    values[~is_text] = entries.values[stored]
    return Sparse(starts=starts, columns=columns, values=values, width=text.width + entries.width)
