"""Encode image columns as brightness between 0 and 1, or as features of a frozen network."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.features.cells import get_column


class Reader(Protocol):
    """A frozen network: images as rows of bytes in, one row of `width` numbers per image out."""

    @property
    def width(self) -> int:
        """The number of features per image."""

    def __call__(self, pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Compute one row per image, in order."""


def count_pixels(frame: pl.DataFrame, name: str) -> int:
    """The number of values per image."""
    series = get_column(frame, name, "image")
    if not len(series):
        raise _build_error(name, "no rows")
    return len(_flatten(series.head(1), name))


def read_images(
    frame: pl.DataFrame, name: str, pixels: int, reader: Reader | None
) -> NDArray[np.float32]:
    """Convert images of bytes (lists or arrays, nested or flat) to float32 rows: the reader's
    features, or without a reader the brightness between 0 and 1.
    """
    series = get_column(frame, name, "image")
    values = _flatten(series, name)
    if len(values) != len(series) * pixels:
        raise _build_error(
            name,
            f"{len(values) // max(len(series), 1)} values per image",
            f"{pixels} values per image, as in training",
        )
    pictures = values.reshape(len(series), pixels)
    if reader is not None:
        return reader(pictures.astype(np.uint8, copy=False))
    matrix = pictures.astype(np.float32)
    matrix /= np.float32(255)
    return matrix


def _flatten(series: pl.Series, name: str) -> NDArray[np.integer]:
    """Flatten all images into one array, after checking that they hold bytes and have the same
    shape.
    """
    if not len(series):
        return np.zeros(0, np.uint8)
    if not series.dtype.is_nested():
        raise _build_error(name, str(series.dtype))
    while isinstance(series.dtype, (pl.List, pl.Array)):
        if series.null_count():
            raise _build_error(name, "missing values")
        if isinstance(series.dtype, pl.List) and (
            series.list.len().n_unique() > 1 or not series.list.len()[0]
        ):
            raise _build_error(name, "empty images or images of different sizes")
        series = series.explode()
    if not series.dtype.is_integer():
        raise _build_error(name, str(series.dtype))
    values = series.to_numpy()
    if series.null_count() or values.min() < 0 or values.max() > 255:
        raise _build_error(name, "missing values or values outside 0..255")
    return values


def _build_error(
    name: str, got: str, needs: str = "lists or arrays of integers 0..255, all of one size"
) -> DataError:
    return DataError(
        f"features(image={name!r}): the column must hold {needs}, but it has {got}; convert the "
        "column to uint8 arrays of one size"
    )
