"""Words of texts by the plan's own rule, as a reader without the compiled kernels would find them, and where each is hashed to."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.features import scripts, spelling
from tacit.features.text import hashed_words, joined_texts
from tacit.plan import Columns, Features


def word_counts(frame: pl.DataFrame, columns: Columns, settings: Features) -> Counter[str]:
    """Return how often each word occurs in the rows' texts. White space parts words by every rule, so each chunk is read once."""
    rule = scripts.words if settings.words == "unicode" else spelling.words
    chunks: Counter[str] = Counter()
    for text in joined_texts(frame, columns).to_list():
        chunks.update(text.split())
    counts: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word in rule(chunk):
            counts[word] += count
    return counts


def buckets_of(words: list[str], settings: Features) -> NDArray[np.int64]:
    """Return the bucket of each word by itself, whatever stands beside words; -1 for a word that the plan leaves out."""
    alone = replace(settings, ngrams=1, characters=(), counts="presence")
    rows = hashed_words(pl.DataFrame({"word": words}, schema={"word": pl.String}), Columns(text=("word",)), alone)
    found = np.full(len(words), -1, np.int64)
    has = np.diff(rows.starts) > 0
    found[has] = rows.columns[rows.starts[:-1][has]]
    return found
