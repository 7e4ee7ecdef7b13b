"""Column statistics computed from rows, as far as the feature settings need them."""

from __future__ import annotations

import numpy as np
import polars as pl

from tacit.column_statistics.common_values import count_required, find_common_values
from tacit.column_statistics.statistics import ColumnStatistics
from tacit.errors import PlanError
from tacit.features.cells import lacks_numbers, read_names, read_numbers, sort_names
from tacit.features.image import count_pixels
from tacit.features.quantise import list_quantised_columns
from tacit.plan import Columns, Features

_NOTHING_COMMON = "(missing)"
TAIL = 0.01
"""`robust`: the share of a column's rows at either end that its range leaves out."""


def compute_statistics(
    frame: pl.DataFrame, columns: Columns, settings: Features
) -> ColumnStatistics:
    """Compute the statistics that the settings need; number formats are found when rows are read.

    numeric = "raw" and agreed ranges read no range, an agreed list of columns with missing numbers
    reads none, text reads nothing.
    """
    check_roles(columns, settings)
    scaled = columns.numeric if settings.numeric != "raw" else ()
    tail = TAIL if settings.numeric == "robust" else 0.0
    if columns.label is None:
        raise PlanError(
            "features(label=None) needs the column to predict, got nothing; set data.columns.label"
        )
    return ColumnStatistics(
        classes=sort_names(read_names(frame, columns.label, "label")),
        ranges={
            name: _measure_range(frame, name, tail)
            for name in scaled
            if name not in settings.ranges
        },
        categories={name: _common(frame, name, columns, settings) for name in columns.categorical},
        pixels=count_pixels(frame, columns.image) if columns.image else None,
        missing=tuple(
            name
            for name in columns.numeric
            if settings.missing is None and lacks_numbers(frame, name)
        ),
    )


def _common(
    frame: pl.DataFrame, name: str, columns: Columns, settings: Features
) -> tuple[str, ...]:
    """The categories that enough clients have, in order; where none is common, a placeholder, so
    that the column keeps an input.
    """
    cells, client = read_names(frame, name, "categorical"), columns.client
    if settings.category_clients == 1:
        return sort_names(cells)
    least = count_required(frame, client, settings.category_clients)
    found = find_common_values(frame.with_columns(cells), name, client, least)
    return sort_names(pl.Series(found.values, dtype=pl.String)) or (_NOTHING_COMMON,)


def _measure_range(frame: pl.DataFrame, name: str, tail: float = 0.0) -> tuple[float, float]:
    """Smallest and largest number of a column, without a share `tail` of its rows at either end; zeros
    for a column without numbers.

    Edge cases: where one value is left, the ends of the whole column.
    """
    values = read_numbers(frame, name)
    present = values[~np.isnan(values)]
    if not len(present):
        return 0.0, 0.0
    low, high = np.quantile(present, (tail, 1 - tail), method="nearest")
    return (float(low), float(high)) if low < high else (float(present.min()), float(present.max()))


def check_roles(columns: Columns, settings: Features) -> None:
    """Raise a PlanError if the columns cannot become one kind of row."""
    others = (*columns.numeric, *columns.categorical)
    if not (columns.text or others or columns.image):
        raise PlanError(
            "features() needs at least one text, numeric, categorical or image column, got none;"
            " name one in data.columns"
        )
    if columns.image and (columns.text or others):
        mixed = ", ".join((*columns.text, *others))
        raise PlanError(
            f"features(image={columns.image!r}) needs to be the only input, got {mixed} beside it;"
            " drop one or the other"
        )
    if not columns.image and (settings.image != "pixels" or settings.project):
        raise PlanError(
            "features.image and features.project need an image column, got none; name one in"
            " data.columns.image, or leave them out"
        )
    wanted = {
        "ranges": tuple(settings.ranges),
        "missing": settings.missing or (),
        "quantise.columns": list_quantised_columns(columns, settings),
    }
    for key, asked in wanted.items():
        others = tuple(name for name in asked if name not in columns.numeric)
        if others:
            raise PlanError(
                f"features({key}={', '.join(others)}) needs numeric columns, got"
                f" {', '.join(columns.numeric) or 'none'} as such; correct features.{key} or"
                " data.columns.numeric"
            )
    if settings.quantise is not None and not columns.numeric:
        raise PlanError(
            "features(quantise) needs a numeric column, got none; name one in data.columns.numeric"
            " or remove the table"
        )
