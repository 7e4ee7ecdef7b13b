"""MovieLens without its keywords, or with them as pretrained vectors (averaged or concatenated) or
hashed: the value of the text.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from tacit.data.named.vectors import load_vectors as vectors_named
from tacit.errors import PlanError
from tacit.features.text.spelling import split_words
from tacit.rows import Dense, Rows
from tacit_papers.central import central_plan, encode_halves, load_table, train_and_measure
from tacit_papers.published import Figures
from tacit_papers.rr_ldp.averages import WordVectors, sparse_rows

TEXTS = ("none", "all", "common", "flat", "hash")
MOST_COMMON = 100
LOCAL = {"lr": 1e-2, "batch": 1000}


def averaged_vectors(
    text: str = "all", limit: int | None = None, seed: int = 0, source: str = "movielens1m", vectors: str = "glove100",
    local: dict[str, Any] | None = None,
) -> Figures:  # fmt: skip
    """Test metrics of the paper's network on the other columns and one of five representations of
    the text.

    Nothing ("none"); the average pretrained vector of its words ("all"); that of its 100 most
    common distinct words ("common": by frequency in the text, then by document frequency); the
    vectors of these concatenated ("flat"); or 5,000 hash buckets ("hash"). Stop words are always
    left out.
    """
    if text not in TEXTS:
        raise PlanError(f"text must be one of {', '.join(TEXTS)}, got {text!r}")
    plan = central_plan(source, "mlp", local or LOCAL, limit, seed, {"stop_words": True})
    table = load_table(plan)
    if text == "hash":
        return train_and_measure(*encode_halves(table, plan.features), plan)
    train, test = encode_halves(
        replace(table, columns=replace(table.columns, text=())), plan.features
    )
    if text == "none":
        return train_and_measure(train, test, plan)
    texts = [
        half.select(pl.concat_str(table.columns.text, separator=" ")).to_series()
        for half in (table.train, table.test)
    ]
    # Many ratings share one movie's text: each distinct text is averaged once.
    distinct = pl.concat(texts).unique(maintain_order=True)
    kept = _select_words(distinct.to_list(), None if text == "all" else MOST_COMMON)
    lexicon = WordVectors(*vectors_named(vectors))
    found = lexicon.laid_flat(kept, MOST_COMMON) if text == "flat" else lexicon.average(kept)
    train, test = (
        _append_inputs(rows, found[_places(half, distinct)])
        for rows, half in zip((train, test), texts, strict=True)
    )
    return train_and_measure(train, test, plan)


def _select_words(texts: list[str], most_common: int | None) -> list[list[str]]:
    """The words of each text that are used."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    kept = [
        [word for word in split_words(text) if word not in ENGLISH_STOP_WORDS] for text in texts
    ]
    if most_common is None:
        return kept
    known_to = Counter(word for text in kept for word in set(text))
    return [_most_common(text, known_to, most_common) for text in kept]


def _most_common(text: list[str], known_to: Counter[str], count: int) -> list[str]:
    repeats = Counter(text)
    kept = set(sorted(repeats, key=lambda word: (-repeats[word], -known_to[word], word))[:count])
    return [word for word in text if word in kept]


def _places(texts: pl.Series, distinct: pl.Series) -> NDArray[np.int64]:
    """The index of each text among the distinct ones."""
    return texts.cast(pl.Enum(distinct)).to_physical().to_numpy().astype(np.int64)


def _append_inputs(rows: Rows, found: NDArray[np.float32] | csr_matrix) -> Rows:
    assert isinstance(rows.inputs, Dense), "without text, rows are dense"
    if isinstance(found, csr_matrix):
        return replace(
            rows, inputs=sparse_rows(hstack([csr_matrix(rows.inputs.matrix), found], format="csr"))
        )
    matrix = np.concatenate([rows.inputs.matrix, found], axis=1)
    return replace(rows, inputs=Dense(matrix=matrix, width=matrix.shape[1]))
