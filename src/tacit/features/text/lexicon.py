"""Text as sequences of token numbers that all clients share. Other modules decide who may know
which number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tacit.errors import PlanError
from tacit.features import tabular
from tacit.features.encoding import encode_labels
from tacit.features.fitting import Fitted
from tacit.features.quantise import check_secret, has_quantised_values
from tacit.features.text.hashed_text import join_texts
from tacit.features.text.stop_words import list_stop_words
from tacit.plan import Columns, Features
from tacit.rows import Dense, Mixed, Rows

Splitter = Callable[[list[str], int], list[list[str]]]
"""Splits texts into units; returns at most `length` units for each text."""

_UNIT = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[!?]")


def build_word_splitter(stop_words: bool) -> Splitter:
    """Build a splitter into lower-cased words, runs of digits and the marks ! and ?."""
    dropped = frozenset(list_stop_words()) if stop_words else frozenset()

    def split(texts: list[str], length: int) -> list[list[str]]:
        return [
            [unit for unit in _UNIT.findall(text.lower()) if unit not in dropped][:length]
            for text in texts
        ]

    return split


def build_piece_splitter(checkpoint: Path) -> Splitter:
    """Wrap a checkpoint's tokenizer as a splitter, including its special tokens at both ends."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            str(checkpoint), local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        raise PlanError(
            f"model.checkpoint: {checkpoint} is not a folder with a tokenizer ({error})"
        ) from None

    def split(texts: list[str], length: int) -> list[list[str]]:
        numbered = tokenizer(texts, truncation=True, max_length=length)["input_ids"]
        return [list(map(str, tokenizer.convert_ids_to_tokens(row))) for row in numbered]

    return split


@dataclass(frozen=True, kw_only=True)
class TokenEncoding:
    """Everything that maps rows to token numbers: columns, settings, fitted values, the splitter,
    the clients' secret.
    """

    columns: Columns
    settings: Features
    fitted: Fitted
    split: Splitter
    secret: bytes = b""

    def units(self, frame: pl.DataFrame) -> list[list[str]]:
        """Split each row's text into words."""
        return self.split(join_texts(frame, self.columns).to_list(), self.settings.length)


def encode_words(
    frames: tuple[pl.DataFrame, ...], reading: TokenEncoding
) -> tuple[tuple[Rows, ...], tuple[str, ...]]:
    """Encode each table's rows as token numbers; also return the words, most frequent first.
    Padding is one past the last.

    Words that are rare in the first table are dropped everywhere, if the settings say so. Columns
    other than text become further features.
    """
    if not reading.columns.text or reading.columns.image:
        raise PlanError(
            f"features(text={reading.settings.text!r}) requires text columns and no image; change"
            " data.columns"
        )
    texts = [reading.units(frame) for frame in frames]
    counts = Counter(unit for rows in texts for row in rows for unit in row)
    least = reading.settings.min_count
    trained = counts if least == 1 else Counter(unit for row in texts[0] for unit in row)
    words = tuple(
        sorted(
            (word for word in counts if trained[word] >= least),
            key=lambda word: (-counts[word], word),
        )
    )
    return (
        tuple(
            _build_rows(frame, reading, units, words)
            for frame, units in zip(frames, texts, strict=True)
        ),
        words,
    )


def encode_further(frame: pl.DataFrame, reading: TokenEncoding, words: tuple[str, ...]) -> Rows:
    """Encode another table with the same words; unknown words are dropped."""
    return _build_rows(frame, reading, reading.units(frame), words)


def _build_rows(
    frame: pl.DataFrame, reading: TokenEncoding, units: list[list[str]], words: tuple[str, ...]
) -> Rows:
    columns, settings, fitted = reading.columns, reading.settings, reading.fitted
    number = {word: place for place, word in enumerate(words)}
    tokens = _build_matrix(
        [[number[unit] for unit in row if unit in number] for row in units], len(words)
    )
    inputs: Dense | Mixed = tokens
    if columns.numeric or columns.categorical:
        if reading.secret or has_quantised_values(frame, columns, settings):
            check_secret(settings, reading.secret, fitted.secret_check)
        entries = tabular.encode_slots(frame, columns, settings, fitted, reading.secret)
        inputs = Mixed(tokens=tokens, dense=tabular.to_matrix(entries))
    return Rows(inputs=inputs, labels=encode_labels(frame, columns, fitted), classes=fitted.classes)


def _build_matrix(rows: list[list[int]], words: int) -> Dense:
    longest = max((len(row) for row in rows), default=1)
    matrix = np.full((len(rows), max(1, longest)), words, np.int32)
    for place, row in enumerate(rows):
        matrix[place, : len(row)] = row
    return Dense(matrix=matrix, width=words + 1, tokens=True)
