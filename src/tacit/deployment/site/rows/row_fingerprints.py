"""Keyed fingerprints of rows, by which a site recognises them in later runs."""

from __future__ import annotations

import hmac

import polars as pl

_BYTES = 16


def compute_fingerprints(frame: pl.DataFrame, key: bytes) -> pl.Series:
    """16 bytes for each row, from all its cells; equal rows are numbered, so that no two
    fingerprints are equal.

    A row has the same fingerprint whichever of its columns a plan reads, and wherever it stands in
    the file.
    """
    names = sorted(frame.columns)
    columns = [_texts(frame[name]) for name in names]
    head = "\x1f".join(names)
    seen: dict[str, int] = {}
    found = []
    for cells in zip(*columns, strict=True):
        text = "\x1e".join(
            [head, *("\x00" if cell is None else f"{len(cell)}:{cell}" for cell in cells)]
        )
        seen[text] = seen.get(text, 0) + 1
        found.append(hmac.digest(key, f"row {seen[text]} {text}".encode(), "sha256")[:_BYTES])
    return pl.Series(found, dtype=pl.Binary)


def _texts(series: pl.Series) -> list[str | None]:
    if series.dtype.is_nested() or isinstance(series.dtype, pl.Binary | pl.Object):
        return [None if cell is None else repr(cell) for cell in series.to_list()]
    texts: list[str | None] = series.cast(pl.String).to_list()
    return texts
