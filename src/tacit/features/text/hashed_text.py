"""Encode text columns as hashed words, n-grams, or word sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.features.cells import get_column
from tacit.features.text import rolling_hash, term_counts
from tacit.features.text.alphabet import Bytes, Offsets
from tacit.features.text.stop_words import blank_stop_words
from tacit.plan import Columns, Features
from tacit.rows import Dense, Sparse, Vector

_LOOSE_MARKS = (0xCC, 0xCD)
"""First bytes of the accents that follow their letter, U+0300 to U+036F; and of a few Greek
letters.
"""

_JOINED_BYTES = 1 << 30
"""Largest text that polars is asked to join; one of its cells holds less than 4 GiB."""


def hash_words(
    frame: pl.DataFrame, columns: Columns, settings: Features, weights: Vector | None = None
) -> Sparse:
    """Hash each text to one sparse row, with an entry for the bucket of each word, and of n-grams
    if configured.

    An entry is 1 or a function of the word count, times the bucket's weight if there are weights.
    """
    data, offsets = get_text_bytes(frame, columns, settings)
    ngrams = term_counts.NgramSettings(settings.ngrams, *(settings.characters or (1, 0)))
    if settings.counts == "presence" and ngrams == term_counts.NgramSettings():
        starts, places = rolling_hash.find_buckets(data, offsets, _build_rule(settings))
        counts = None
    else:
        starts, places, counts = term_counts.count_terms(
            data, offsets, _build_rule(settings), ngrams
        )
    return Sparse(
        starts=starts,
        columns=places,
        values=weigh_entries(places, counts, settings, weights),
        width=settings.buckets,
    )


def weigh_entries(
    places: NDArray[np.int32], counts: Vector | None, settings: Features, weights: Vector | None
) -> Vector | None:
    """Compute the values of entries from their counts and the weights of their inputs; None if all
    are 1.
    """
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


def hash_word_sequence(frame: pl.DataFrame, columns: Columns, settings: Features) -> Dense:
    """List the buckets of each text's first words in order, padded with the index `buckets`."""
    data, offsets = get_text_bytes(frame, columns, settings)
    matrix = rolling_hash.list_buckets(data, offsets, _build_rule(settings), settings.length)
    return Dense(matrix=matrix, width=settings.buckets + 1, tokens=True)


def _build_rule(settings: Features) -> rolling_hash.HashRule:
    match settings.words:
        case "letters":
            return rolling_hash.build_latin_rule(settings.base, settings.buckets)
        case "unicode":
            return rolling_hash.build_unicode_rule(settings.buckets)
        case _:
            assert_never(settings.words)


def get_text_bytes(
    frame: pl.DataFrame, columns: Columns, settings: Features
) -> tuple[Bytes, Offsets]:
    """Concatenate the bytes of all texts and list the start of each; stop words are removed first
    if configured.
    """
    texts = join_texts(frame, columns)
    data, offsets = to_utf8(texts)
    if settings.words == "unicode" and np.isin(data, _LOOSE_MARKS).any():
        data, offsets = to_utf8(_compose_accents(texts))
    return (blank_stop_words(data, offsets), offsets) if settings.stop_words else (data, offsets)


def _compose_accents(texts: pl.Series) -> pl.Series:
    """Normalise combining accents to composed characters (NFC)."""
    loose = pl.first().str.contains("[\u0300-\u036f]")
    return (
        texts.to_frame()
        .select(pl.when(loose).then(pl.first().str.normalize("NFC")).otherwise(pl.first()))
        .to_series()
    )


def join_texts(frame: pl.DataFrame, columns: Columns) -> pl.Series:
    """Join the text columns of each row with a space."""
    return _join([_read_texts(frame, name) for name in columns.text])


def _read_texts(frame: pl.DataFrame, name: str) -> pl.Series:
    """Read a text column with missing cells as empty strings."""
    series = get_column(frame, name, "text")
    if not isinstance(series.dtype, (pl.String, pl.Categorical, pl.Enum, pl.Null)):
        raise DataError(
            f"features(text={name!r}): the column holds {series.dtype}, not text; give this column"
            " another role"
        )
    return series.cast(pl.String).fill_null("")


def _join(texts: list[pl.Series]) -> pl.Series:
    if len(texts) == 1:
        return texts[0]
    numbered = pl.DataFrame({str(place): series for place, series in enumerate(texts)})
    return numbered.select(pl.concat_str(pl.all(), separator=" ")).to_series()


def to_utf8(texts: pl.Series) -> tuple[Bytes, Offsets]:
    """Convert all texts to one block of UTF-8 bytes and the start of each, without creating Python
    strings.
    """
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(texts.str.len_bytes().fill_null(0).to_numpy(), dtype=np.int64, out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)
    for first, last in _split_by_size(offsets, _JOINED_BYTES):
        joined = texts.slice(first, last - first).str.join("").cast(pl.Binary).item()
        data[offsets[first] : offsets[last]] = np.frombuffer(joined, np.uint8)
    data.flags.writeable = offsets.flags.writeable = False  # kernels are compiled for one type only
    return data, offsets


def _split_by_size(offsets: Offsets, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of texts with at most `most` bytes each, or with one text."""
    first, count = 0, len(offsets) - 1
    while first < count:
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last
