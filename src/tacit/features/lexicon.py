"""Text as a sequence of plain words, numbered once for everybody: who may know which number is decided elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from tacit.errors import PlanError
from tacit.features.encoding import labels_of
from tacit.features.fitting import Fitted
from tacit.features.text import joined_texts
from tacit.plan import Columns, Features
from tacit.rows import Dense, Rows

Splitter = Callable[[list[str], int], list[list[str]]]
"""Texts and a length in, for each text at most that many units out."""

_UNIT = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[!?]")


def plain_words(stop_words: bool) -> Splitter:
    """Return the splitter into lower-cased words, runs of digits and the marks ! and ?."""
    dropped = _stop_words() if stop_words else frozenset()

    def split(texts: list[str], length: int) -> list[list[str]]:
        return [[unit for unit in _UNIT.findall(text.lower()) if unit not in dropped][:length] for text in texts]

    return split


def word_pieces(checkpoint: Path) -> Splitter:
    """Return the splitter of a checkpoint's own tokenizer, its special pieces at both ends included."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(checkpoint), local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise PlanError(f"model.checkpoint: needs a folder with a tokenizer, got {checkpoint} ({error})") from None

    def split(texts: list[str], length: int) -> list[list[str]]:
        numbered = tokenizer(texts, truncation=True, max_length=length)["input_ids"]
        return [list(map(str, tokenizer.convert_ids_to_tokens(row))) for row in numbered]

    return split


def encode_words(
    halves: tuple[pl.DataFrame, ...], columns: Columns, settings: Features, fitted: Fitted, split: Splitter
) -> tuple[tuple[Rows, ...], tuple[str, ...]]:
    """Return each table's rows as word numbers, and the words: most frequent first, the padding one past the last."""
    if not columns.text or columns.numeric or columns.categorical or columns.image:
        raise PlanError(f"features(text={settings.text!r}) needs text columns and no others; change data.columns")
    texts = [split(joined_texts(frame, columns).to_list(), settings.length) for frame in halves]
    counts = Counter(unit for rows in texts for row in rows for unit in row)
    words = tuple(sorted(counts, key=lambda word: (-counts[word], word)))
    number = {word: place for place, word in enumerate(words)}
    return tuple(
        Rows(inputs=_matrix(rows, number), labels=labels_of(frame, columns, fitted), classes=fitted.classes)
        for rows, frame in zip(texts, halves, strict=True)
    ), words


def _matrix(rows: list[list[str]], number: dict[str, int]) -> Dense:
    longest = max((len(row) for row in rows), default=1)
    matrix = np.full((len(rows), max(1, longest)), len(number), np.int32)
    for place, row in enumerate(rows):
        matrix[place, : len(row)] = [number[unit] for unit in row]
    return Dense(matrix=matrix, width=len(number) + 1, tokens=True)


def _stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    found: frozenset[str] = ENGLISH_STOP_WORDS
    return found
