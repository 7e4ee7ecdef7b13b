"""Word counts by the plan's text rule, without the compiled kernels, and the bucket of each word."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.features.text import scripts, spelling
from tacit.features.text.hashed_text import hash_words, join_texts
from tacit.plan import Columns, Features


def count_words(frame: pl.DataFrame, columns: Columns, settings: Features) -> Counter[str]:
    """Count each word in the rows' texts.

    White space separates words under every rule, so each chunk is split once.
    """
    rule = scripts.split_words if settings.words == "unicode" else spelling.split_words
    chunks: Counter[str] = Counter()
    for text in join_texts(frame, columns).to_list():
        chunks.update(text.split())
    counts: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word in rule(chunk):
            counts[word] += count
    return counts


def find_word_buckets(words: list[str], settings: Features) -> NDArray[np.int64]:
    """Find the bucket of each single word; -1 for a word that the plan drops."""
    alone = replace(settings, ngrams=1, characters=(), counts="presence")
    rows = hash_words(
        pl.DataFrame({"word": words}, schema={"word": pl.String}), Columns(text=("word",)), alone
    )
    found = np.full(len(words), -1, np.int64)
    has = np.diff(rows.starts) > 0
    found[has] = rows.columns[rows.starts[:-1][has]]
    return found
