"""Column statistics computed from rows, as far as the feature settings need them."""

from __future__ import annotations

import numpy as np
import polars as pl

from tacit.column_statistics.agreed_values import AgreedValues
from tacit.column_statistics.common_values import MISSING, count_required, find_common_values
from tacit.column_statistics.statistics import ColumnStatistics
from tacit.errors import PlanError
from tacit.features.cells import lacks_numbers, read_names, read_numbers, sort_names
from tacit.features.image import count_pixels
from tacit.features.quantise import list_quantised_columns
from tacit.plan import Columns, Features

TAIL = 0.01
"""`robust`: the range of a column is from this quantile to 1 minus this quantile."""


def compute_statistics(
    frame: pl.DataFrame,
    columns: Columns,
    settings: Features,
    agreed: AgreedValues | None = None,
) -> ColumnStatistics:
    """Compute the statistics that the settings need; number formats are found when rows are read.

    numeric = "raw" and agreed ranges read no range, an agreed list of columns with missing numbers
    reads none, text reads nothing. Nothing is read that the plan's schema states (`agreed`).
    """
    check_roles(columns, settings)
    agreed = agreed or AgreedValues()
    scaled = columns.numeric if settings.numeric != "raw" else ()
    tail = TAIL if settings.numeric == "robust" else 0.0
    if columns.label is None:
        raise PlanError("data.columns.label is missing: set it to the column to predict")
    return ColumnStatistics(
        classes=(() if agreed.classes else sort_names(read_names(frame, columns.label, "label"))),
        ranges={
            name: _measure_range(frame, name, tail)
            for name in scaled
            if name not in settings.ranges and name not in agreed.ranges
        },
        categories={
            name: _common(frame, name, columns, settings)
            for name in columns.categorical
            if name not in agreed.categories
        },
        pixels=count_pixels(frame, columns.image) if columns.image else None,
        missing=tuple(
            name
            for name in columns.numeric
            if settings.missing is None
            and name not in agreed.may_miss
            and lacks_numbers(frame, name)
        ),
    )


def _common(
    frame: pl.DataFrame, name: str, columns: Columns, settings: Features
) -> tuple[str, ...]:
    """The categories that enough clients have, in order; if there are none, a placeholder, so that
    the column keeps an input.
    """
    cells, client = read_names(frame, name, "categorical"), columns.client
    if settings.category_clients == 1:
        return sort_names(cells)
    least = count_required(frame, client, settings.category_clients)
    found = find_common_values(frame.with_columns(cells), name, client, least)
    return sort_names(pl.Series(found.values, dtype=pl.String)) or (MISSING,)


def _measure_range(frame: pl.DataFrame, name: str, tail: float = 0.0) -> tuple[float, float]:
    """Range of a column from quantile `tail` to quantile 1 - `tail`; zeros for a column without
    numbers.

    Edge cases: if one value is left, the smallest and largest value of the column.
    """
    values = read_numbers(frame, name)
    present = values[~np.isnan(values)]
    if not len(present):
        return 0.0, 0.0
    low, high = np.quantile(present, (tail, 1 - tail), method="nearest")
    return (float(low), float(high)) if low < high else (float(present.min()), float(present.max()))


def check_roles(columns: Columns, settings: Features) -> None:
    """Raise PlanError if the columns cannot become one kind of row."""
    others = (*columns.numeric, *columns.categorical)
    if not (columns.text or others or columns.image):
        raise PlanError(
            "data.columns must name at least one text, numeric, categorical or image column, got"
            " none"
        )
    if columns.image and (columns.text or others):
        mixed = ", ".join((*columns.text, *others))
        raise PlanError(
            f"an image column must be the only input: data.columns has {columns.image!r} and"
            f" {mixed}; remove the image or the others"
        )
    if not columns.image and (settings.image != "pixels" or settings.project):
        raise PlanError(
            "features.image and features.project require an image column; name one in"
            " data.columns.image, or remove them"
        )
    wanted = {
        "ranges": tuple(settings.ranges),
        "missing": settings.missing or (),
    }
    if settings.quantise is not None:
        wanted["quantise.columns"] = list_quantised_columns(columns, settings)
    for key, asked in wanted.items():
        others = tuple(name for name in asked if name not in columns.numeric)
        if others:
            raise PlanError(
                f"features.{key} names {', '.join(others)}, but the numeric columns are"
                f" {', '.join(columns.numeric) or 'none'}; correct features.{key} or"
                " data.columns.numeric"
            )
    if settings.quantise is not None and not columns.numeric:
        raise PlanError(
            "features.quantise requires a numeric column; name one in data.columns.numeric, or"
            " remove the table"
        )
