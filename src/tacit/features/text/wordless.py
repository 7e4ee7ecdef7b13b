"""Count texts of which the model reads no word at all."""

from __future__ import annotations

import numpy as np
import polars as pl

from tacit.features.fitting import Fitted
from tacit.features.text.hashed_text import hash_words
from tacit.plan import Columns, Features
from tacit.rows import Mixed, Rows, Sparse


def count_wordless_rows(rows: Rows, columns: Columns, settings: Features, fitted: Fitted) -> int:
    """Count encoded rows without a word; 0 if there is no text, if it is neither hashed nor listed,
    or if an encoder reads it too.
    """
    if not columns.text or settings.has_encoder or settings.text in ("words", "pieces"):
        return 0
    if settings.text == "sequence":
        tokens = rows.inputs.tokens if isinstance(rows.inputs, Mixed) else rows.inputs
        return (
            int((tokens.matrix == settings.buckets).all(axis=1).sum())
            if not isinstance(tokens, Sparse)
            else 0
        )
    assert isinstance(rows.inputs, Sparse)
    text_width = len(fitted.words) if settings.text == "listed" else settings.buckets
    words_before = np.concatenate([[0], np.cumsum(rows.inputs.columns < text_width)])
    return int((np.diff(words_before[rows.inputs.starts]) == 0).sum())


def count_wordless_texts(frame: pl.DataFrame, columns: Columns, settings: Features) -> int:
    """Count rows of a table without a word under the text rule, regardless of any word list."""
    return int((np.diff(hash_words(frame, columns, settings).starts) == 0).sum())
