"""Decode images in table cells to rows of bytes of equal length."""

from __future__ import annotations

import io

import numpy as np
import polars as pl

from tacit.errors import DataError


def decode_images(series: pl.Series) -> pl.Series:
    """Convert the column to an Array of uint8: pixel lists unchanged, encoded images decoded."""
    if series.null_count():
        raise DataError(
            f"data.columns.image = {series.name!r} has {series.null_count():,} empty cells; each"
            " row must have an image"
        )
    if series.dtype == pl.Struct:  # how Hugging Face stores a picture: its bytes and its path
        series = series.struct.field("bytes").alias(series.name)
    if series.dtype == pl.Binary:
        rows = [_decode_cell(cell, series.name) for cell in series]
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            raise _build_size_error(series.name)
        return (
            pl.Series(series.name, np.stack(rows)) if rows else series.cast(pl.Array(pl.UInt8, 0))
        )
    if isinstance(series.dtype, pl.Array):
        return (
            series if series.dtype.inner == pl.UInt8 else _flatten(series)
        )  # bytes in one line are what sets are kept as
    if isinstance(series.dtype, pl.List):
        widths = set(series.list.len().unique())
        if len(widths) != 1:
            raise _build_size_error(series.name)
        return series.cast(pl.Array(pl.UInt8, int(widths.pop())))
    raise DataError(
        f"data.columns.image = {series.name!r} must hold lists of pixel values 0-255 or encoded"
        f" images, got {series.dtype}"
    )


def _flatten(series: pl.Series) -> pl.Series:
    inner = series.to_numpy()
    return pl.Series(series.name, inner.reshape(len(inner), -1).astype(np.uint8))


def _decode_cell(cell: bytes, name: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise DataError(
            f"data.columns.image = {name!r}: opening images requires Pillow; pip install"
            " 'tacit[image]'"
        ) from None
    try:
        with Image.open(io.BytesIO(cell)) as picture:
            return np.asarray(picture.convert("L" if picture.mode in ("1", "L") else "RGB")).ravel()
    except UnidentifiedImageError:
        raise DataError(
            f"data.columns.image = {name!r} holds an image that Pillow cannot open; check the"
            " column"
        ) from None


def _build_size_error(name: str) -> DataError:
    return DataError(
        f"data.columns.image = {name!r} must hold images of one size, but it holds several sizes;"
        " scale them first"
    )
