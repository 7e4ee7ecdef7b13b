"""Share of the texts' words that a model reads, measured on a sample before training."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tacit.features.text.hashed_text import get_text_bytes, hash_words, join_texts
from tacit.features.text.language import Language, detect_language
from tacit.features.text.listed_words import count_listed_words as count_listed
from tacit.plan import Columns, Features

_TEXTS, _LETTERS = 1000, 2000
_READ = 300
"""Number of texts, and characters of each, from which the language is detected."""
LEAST_TEXTS, LEAST_WORDS = 0.9, 0.65
"""Shares of texts with a word the model reads, and of words it reads. English prose has 0.93 and
0.76 or more with 5,000 words of the English list (SST-2, IMDB, AG News, 20 Newsgroups), German and
Spanish prose at most 0.57 with 50,000.
"""


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Number of texts in the sample, share of texts with at least one word that is read, and share
    of words read.
    """

    texts: int
    texts_seen: float
    words_seen: float

    @property
    def is_enough(self) -> bool:
        """Whether the model reads enough of the texts to learn from them."""
        return self.texts == 0 or (
            self.texts_seen >= LEAST_TEXTS and self.words_seen >= LEAST_WORDS
        )


def measure_coverage(
    frame: pl.DataFrame, columns: Columns, settings: Features, listed: tuple[str, ...] = ()
) -> Coverage:
    """Measure coverage on up to 1,000 texts, evenly spread over the rows, and 2,000 characters of
    each.

    `listed` are the words read by `features.text = "listed"`. Words are counted by `features.words
    = "unicode"`, so texts in a script that the settings skip count as unread. Texts without any
    word are left out.
    """
    texts, only = _draw_sample(frame, columns), Columns(text=("text",))
    plain = replace(Features(), words="unicode", text="binary", counts="counts", buckets=50_000)
    every = _count_words(texts, only, plain)
    if settings.word_form == "listed":
        data, offsets = get_text_bytes(texts, only, settings)
        starts, _, values = count_listed(data, offsets, listed, settings.words == "unicode")
        seen = _sum_rows(starts, values)
    else:
        rule = replace(
            plain, words=settings.words, stop_words=settings.stop_words, base=settings.base
        )
        seen = _count_words(texts, only, rule)
    some = every > 0
    if not some.any():
        return Coverage(texts=0, texts_seen=1.0, words_seen=1.0)
    read = np.minimum(seen, every)[some]
    return Coverage(
        texts=int(some.sum()),
        texts_seen=float((read > 0).mean()),
        words_seen=float(read.sum() / every[some].sum()),
    )


def find_language(frame: pl.DataFrame, columns: Columns) -> Language:
    """Detect the language of a table's texts from a sample."""
    return detect_language(
        _draw_sample(frame, columns)["text"].head(_READ).str.slice(0, _READ).to_list()
    )


def _draw_sample(frame: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    step = max(1, frame.height // _TEXTS)
    some = (
        frame.select(pl.col(columns.text).cast(pl.String).fill_null(""))
        .gather_every(step)
        .head(_TEXTS)
    )
    return pl.DataFrame({"text": join_texts(some, columns).str.slice(0, _LETTERS)})


def _count_words(
    frame: pl.DataFrame, columns: Columns, settings: Features
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = hash_words(frame, columns, settings)
    assert found.values is not None, "counts were requested"
    return _sum_rows(found.starts, found.values)


def _sum_rows(
    starts: np.ndarray, values: np.ndarray
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    before = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return np.asarray(np.diff(before[starts]))
