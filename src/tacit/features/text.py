"""Text columns become rows: hashed words, what stands beside them, or their sequence."""

from __future__ import annotations

from typing import assert_never

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.features import rolling_hash, terms
from tacit.features.alphabet import Bytes, Offsets
from tacit.features.cells import column
from tacit.features.stop_words import without_stop_words
from tacit.plan import Columns, Features
from tacit.rows import Dense, Sparse, Vector

_LOOSE_MARKS = (0xCC, 0xCD)
"""First bytes of the accents that follow their letter, U+0300 to U+036F; and of a few Greek letters."""


def hashed_words(frame: pl.DataFrame, columns: Columns, settings: Features, weights: Vector | None = None) -> Sparse:
    """Return one row per text with an entry for the bucket of each of its words, and of n-grams if asked for.

    An entry is one, or what the number of words in the bucket makes it; times the bucket's weight, if there are weights.
    """
    data, offsets = text_bytes(frame, columns, settings)
    beside = terms.Beside(settings.ngrams, *(settings.characters or (1, 0)))
    if settings.counts == "presence" and beside == terms.Beside():
        starts, places = rolling_hash.presence(data, offsets, _rule(settings))
        counts = None
    else:
        starts, places, counts = terms.counts(data, offsets, _rule(settings), beside)
    return Sparse(starts=starts, columns=places, values=valued(places, counts, settings, weights), width=settings.buckets)


def valued(places: NDArray[np.int32], counts: Vector | None, settings: Features, weights: Vector | None) -> Vector | None:
    """Return what entries count: by the settings from how often each occurs, times the weight of its place; None: one each."""
    match settings.counts:
        case "presence":
            counts = None
        case "counts":
            pass
        case "sublinear":
            counts = None if counts is None else np.asarray(1 + np.log(counts))
        case _:
            assert_never(settings.counts)
    if counts is None:
        return None if weights is None else weights[places]
    return np.asarray(counts if weights is None else counts * weights[places], np.float32)


def word_sequence(frame: pl.DataFrame, columns: Columns, settings: Features) -> Dense:
    """Return the buckets of each text's first words in order; the index `buckets` fills up what is missing."""
    data, offsets = text_bytes(frame, columns, settings)
    matrix = rolling_hash.sequence(data, offsets, _rule(settings), settings.length)
    return Dense(matrix=matrix, width=settings.buckets + 1, tokens=True)


def _rule(settings: Features) -> rolling_hash.Rule:
    match settings.words:
        case "letters":
            return rolling_hash.rule_of(settings.base, settings.buckets)
        case "unicode":
            return rolling_hash.any_script(settings.buckets)
        case _:
            assert_never(settings.words)


def text_bytes(frame: pl.DataFrame, columns: Columns, settings: Features) -> tuple[Bytes, Offsets]:
    """Return the bytes of all texts and where each begins; common words are dropped first, if the plan says so."""
    texts = joined_texts(frame, columns)
    data, offsets = utf8(texts)
    if settings.words == "unicode" and np.isin(data, _LOOSE_MARKS).any():
        data, offsets = utf8(_composed(texts))
    return (without_stop_words(data, offsets), offsets) if settings.stop_words else (data, offsets)


def _composed(texts: pl.Series) -> pl.Series:
    """Return texts in which an accent after its letter became one character with it, as most texts write it."""
    loose = pl.first().str.contains("[\u0300-\u036f]")
    return texts.to_frame().select(pl.when(loose).then(pl.first().str.normalize("NFC")).otherwise(pl.first())).to_series()


def joined_texts(frame: pl.DataFrame, columns: Columns) -> pl.Series:
    """Return one text per row: its text columns, joined with a space."""
    return _joined([_texts(frame, name) for name in columns.text])


def _texts(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return a column of text in which a missing cell is the empty text."""
    series = column(frame, name, "text")
    if not isinstance(series.dtype, (pl.String, pl.Categorical, pl.Enum, pl.Null)):
        raise DataError(f"features(text={name!r}) needs a column of text, got {series.dtype}; give this column another role")
    return series.cast(pl.String).fill_null("")


def _joined(texts: list[pl.Series]) -> pl.Series:
    if len(texts) == 1:
        return texts[0]
    numbered = pl.DataFrame({str(place): series for place, series in enumerate(texts)})
    return numbered.select(pl.concat_str(pl.all(), separator=" ")).to_series()


def utf8(texts: pl.Series) -> tuple[Bytes, Offsets]:
    """Return all texts as one block of bytes, and where each begins; nothing passes through Python strings."""
    if not len(texts):
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    array = texts.to_arrow().cast(pa.large_string())
    _, offsets, data = array.buffers()
    begins = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return _frozen(np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)), begins


def _frozen(data: Bytes) -> Bytes:
    """Return the same bytes, read-only: one type for the kernels, so they are compiled once."""
    data.flags.writeable = False
    return data
