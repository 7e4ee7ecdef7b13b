"""How many texts became nothing: rows of which the model sees no word at all."""

from __future__ import annotations

import numpy as np
import polars as pl

from tacit.features.fitting import Fitted
from tacit.features.text import hashed_words
from tacit.plan import Columns, Features
from tacit.rows import Mixed, Rows, Sparse


def wordless_rows(rows: Rows, columns: Columns, settings: Features, fitted: Fitted) -> int:
    """Return how many of the encoded rows have no word; none where there is no text, or its words are not hashed or listed."""
    if not columns.text or settings.text in ("words", "pieces"):
        return 0
    if settings.text == "sequence":
        tokens = rows.inputs.tokens if isinstance(rows.inputs, Mixed) else rows.inputs
        return int((tokens.matrix == settings.buckets).all(axis=1).sum()) if not isinstance(tokens, Sparse) else 0
    assert isinstance(rows.inputs, Sparse)
    text_width = len(fitted.words) if settings.text == "listed" else settings.buckets
    words_before = np.concatenate([[0], np.cumsum(rows.inputs.columns < text_width)])
    return int((np.diff(words_before[rows.inputs.starts]) == 0).sum())


def wordless_texts(frame: pl.DataFrame, columns: Columns, settings: Features) -> int:
    """Return how many rows of a table have no word by the text rule, whatever words a list has."""
    return int((np.diff(hashed_words(frame, columns, settings).starts) == 0).sum())
