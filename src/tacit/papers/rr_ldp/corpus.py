"""References that read the whole corpus first, which a federation cannot: word counts, and word2vec trained on the texts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit import data
from tacit.errors import PlanError, TacitError
from tacit.features.spelling import words
from tacit.papers.central import central_plan, encoded, loaded, train_and_measure
from tacit.papers.published import Figures
from tacit.papers.rr_ldp.averages import Lexicon, sparse_rows
from tacit.plan import Features
from tacit.rows import Dense, Inputs, Rows

CORPORA = ("train", "full", "limited")
CLASSIFIERS = ("logistic", "mlp")
LIMITED_WORDS = 5000
WIDTH = 300


def term_frequency(
    source: str = "imdb", model: str = "logistic", limit: int | None = None, seed: int = 0, local: dict[str, Any] | None = None
) -> Figures:
    """Return the test figures of a classifier on how often each word of the training texts occurs in a text.

    Words follow the text rule of hashed features; a test word that no training text has is left out.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    plan = central_plan(source, model, local, limit, seed)
    table = loaded(plan)
    counter = CountVectorizer(analyzer=words, dtype=np.float32)
    train = counter.fit_transform(_texts(table.train, table))
    test = counter.transform(_texts(table.test, table))
    return train_and_measure(*_with_inputs(table, sparse_rows(train), sparse_rows(test)), plan)


def word2vec(
    corpus: str = "train", limit: int | None = None, seed: int = 0, source: str = "imdb", local: dict[str, Any] | None = None
) -> Figures:
    """Return the test figures of two classifiers ("logistic auc", "mlp auc", …) on the average word2vec vector of a text.

    The vectors (skip-gram, 300 numbers, every word, else gensim's defaults) are trained on the training texts
    ("train"), on the test texts too ("full"), or on the training texts with only their 5,000 most frequent words
    ("limited"). They take minutes, so both classifiers are trained on the same ones. The averages are standardised by the
    training texts' mean and deviation.
    """
    if corpus not in CORPORA:
        raise PlanError(f"word2vec(corpus={corpus!r}) needs one of {', '.join(CORPORA)}, got another")
    plans = {model: central_plan(source, model, local, limit, seed) for model in CLASSIFIERS}
    train, test = _averaged(corpus, loaded(plans[CLASSIFIERS[0]]), seed)
    found = {model: train_and_measure(train, test, plan)["last"] for model, plan in plans.items()}
    return {"last": {f"{model} {metric}": value for model, figures in found.items() for metric, value in figures.items()}}


def _averaged(corpus: str, table: data.Table, seed: int) -> tuple[Rows, Rows]:
    train, test = _split_into_words(_texts(table.train, table)), _split_into_words(_texts(table.test, table))
    lexicon = _learned(_most_frequent(train) if corpus == "limited" else train + test if corpus == "full" else train, seed)
    return _with_inputs(table, *_standardised(lexicon.average(train), lexicon.average(test)))


def _learned(texts: list[list[str]], seed: int) -> Lexicon:
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise TacitError("word2vec() needs the package gensim, got none; pip install 'tacit[text]'") from None
    # One thread: with more, gensim's result depends on how they happen to take turns.
    found = Word2Vec(texts, vector_size=WIDTH, sg=1, min_count=1, workers=1, seed=seed).wv
    return Lexicon(found.index_to_key, found.vectors)


def _split_into_words(texts: list[str]) -> list[list[str]]:
    same: dict[str, str] = {}  # one object per word, not one an occurrence
    return [[same.setdefault(word, word) for word in words(text)] for text in texts]


def _most_frequent(texts: list[list[str]]) -> list[list[str]]:
    kept = {word for word, _ in Counter(word for text in texts for word in text).most_common(LIMITED_WORDS)}
    return [[word for word in text if word in kept] for text in texts]


def _texts(half: pl.DataFrame, table: data.Table) -> list[str]:
    return half.select(pl.concat_str(table.columns.text, separator=" ")).to_series().to_list()


def _with_inputs(table: data.Table, train: Inputs, test: Inputs) -> tuple[Rows, Rows]:
    """Return the halves with these inputs in place of hashed text; labels are read as every plan reads them."""
    hashed = encoded(table, Features())
    return replace(hashed[0], inputs=train), replace(hashed[1], inputs=test)


def _standardised(train: NDArray[np.float32], test: NDArray[np.float32]) -> tuple[Dense, Dense]:
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    scale = np.where(deviation > 0, deviation, np.float32(1))
    first, second = ((matrix - mean) / scale for matrix in (train, test))
    return Dense(matrix=first, width=first.shape[1]), Dense(matrix=second, width=second.shape[1])
