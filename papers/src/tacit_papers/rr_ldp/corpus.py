"""Baselines that read the whole corpus first, which a federation cannot: word counts, and word2vec
trained on the texts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit import data
from tacit.errors import PlanError
from tacit.features.text.spelling import split_words
from tacit.plan import Features
from tacit.rows import Dense, Inputs, Rows
from tacit_papers.central import central_plan, encode_halves, load_table, train_and_measure
from tacit_papers.published import Figures
from tacit_papers.rr_ldp.averages import WordVectors, sparse_rows

CORPORA = ("train", "full", "limited")
CLASSIFIERS = ("logistic", "mlp")
LIMITED_WORDS = 5000
WIDTH = 300


def term_frequency(
    source: str = "imdb",
    model: str = "logistic",
    limit: int | None = None,
    seed: int = 0,
    local: dict[str, Any] | None = None,
) -> Figures:
    """Test metrics of a classifier on term frequencies over the words of the training texts.

    Texts are split as for hashed features; test words that occur in no training text are left out.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    plan = central_plan(source, model, local, limit, seed)
    table = load_table(plan)
    counter = CountVectorizer(analyzer=split_words, dtype=np.float32)
    train = counter.fit_transform(_texts(table.train, table))
    test = counter.transform(_texts(table.test, table))
    return train_and_measure(*_replace_inputs(table, sparse_rows(train), sparse_rows(test)), plan)


def word2vec(
    corpus: str = "train",
    limit: int | None = None,
    seed: int = 0,
    source: str = "imdb",
    local: dict[str, Any] | None = None,
) -> Figures:
    """Test metrics of two classifiers ("logistic auc", "mlp auc", …) on a text's average word2vec
    vector.

    The vectors (skip-gram, 300 dimensions, every word, otherwise gensim's defaults) are trained on
    the training texts ("train"), on the test texts too ("full"), or on the training texts
    restricted to their 5,000 most frequent words ("limited"). Training takes minutes, so both
    classifiers share the vectors. Averages are standardised by the training texts' mean and
    standard deviation.
    """
    if corpus not in CORPORA:
        raise PlanError(f"corpus must be one of {', '.join(CORPORA)}, got {corpus!r}")
    plans = {model: central_plan(source, model, local, limit, seed) for model in CLASSIFIERS}
    train, test = _average_vectors(corpus, load_table(plans[CLASSIFIERS[0]]), seed)
    found = {model: train_and_measure(train, test, plan)["last"] for model, plan in plans.items()}
    return {
        "last": {
            f"{model} {metric}": value
            for model, figures in found.items()
            for metric, value in figures.items()
        }
    }


def _average_vectors(corpus: str, table: data.Table, seed: int) -> tuple[Rows, Rows]:
    train, test = (
        _split_into_words(_texts(table.train, table)),
        _split_into_words(_texts(table.test, table)),
    )
    lexicon = _train_vectors(
        (
            _most_frequent(train)
            if corpus == "limited"
            else train + test
            if corpus == "full"
            else train
        ),
        seed,
    )
    return _replace_inputs(table, *_standardise(lexicon.average(train), lexicon.average(test)))


def _train_vectors(texts: list[list[str]], seed: int) -> WordVectors:
    from gensim.models import Word2Vec

    # One thread: with more, gensim's result depends on how they happen to take turns.
    found = Word2Vec(texts, vector_size=WIDTH, sg=1, min_count=1, workers=1, seed=seed).wv
    return WordVectors(found.index_to_key, found.vectors)


def _split_into_words(texts: list[str]) -> list[list[str]]:
    same: dict[str, str] = {}  # one object per word, not one an occurrence
    return [[same.setdefault(word, word) for word in split_words(text)] for text in texts]


def _most_frequent(texts: list[list[str]]) -> list[list[str]]:
    kept = {
        word
        for word, _ in Counter(word for text in texts for word in text).most_common(LIMITED_WORDS)
    }
    return [[word for word in text if word in kept] for text in texts]


def _texts(half: pl.DataFrame, table: data.Table) -> list[str]:
    return half.select(pl.concat_str(table.columns.text, separator=" ")).to_series().to_list()


def _replace_inputs(table: data.Table, train: Inputs, test: Inputs) -> tuple[Rows, Rows]:
    """Training and test rows with these inputs in place of hashed text; labels are encoded as in
    every plan.
    """
    hashed = encode_halves(table, Features())
    return replace(hashed[0], inputs=train), replace(hashed[1], inputs=test)


def _standardise(train: NDArray[np.float32], test: NDArray[np.float32]) -> tuple[Dense, Dense]:
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    scale = np.where(deviation > 0, deviation, np.float32(1))
    first, second = ((matrix - mean) / scale for matrix in (train, test))
    return Dense(matrix=first, width=first.shape[1]), Dense(matrix=second, width=second.shape[1])
