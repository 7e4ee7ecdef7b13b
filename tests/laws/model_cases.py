"""One case for each model: small settings, and rows of the kind that it reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit import plan
from tacit.rows import Dense, Rows, Sparse

ROWS, WIDTH = 24, 16


class ModelCase(NamedTuple):
    """Settings of a model, and rows that it is trained on."""

    settings: plan.Model
    rows: Rows


def _rows(inputs: Dense | Sparse) -> Rows:
    labels = np.random.default_rng(1).integers(0, 3, ROWS).astype(np.int32)
    return Rows(inputs=inputs, labels=labels, classes=("a", "b", "c"))


def _sparse() -> Rows:
    starts = np.arange(ROWS + 1, dtype=np.int64) * 2
    columns = np.tile(np.array([1, 5], np.int32), ROWS)
    return _rows(Sparse(starts=starts, columns=columns, values=None, width=WIDTH))


def _pixels() -> Rows:
    random = np.random.default_rng(2)
    return _rows(Dense(matrix=random.random((ROWS, 64), np.float32), width=64))


def _tokens() -> Rows:
    random = np.random.default_rng(3)
    tokens = random.integers(1, WIDTH, (ROWS, 5)).astype(np.int32)
    return _rows(Dense(matrix=tokens, width=WIDTH, tokens=True))


CASES: dict[str, ModelCase] = {
    "logistic": ModelCase(plan.Logistic(), _sparse()),
    "mlp": ModelCase(plan.MLP(hidden=(4,)), _sparse()),
    "lstm_step": ModelCase(plan.LSTMStep(hidden=(3,), units=4), _sparse()),
    "embedding": ModelCase(plan.Embedding(hidden=(3,), embedding=4), _tokens()),
    "lstm": ModelCase(plan.LSTM(hidden=(3,), embedding=4), _tokens()),
    "vit": ModelCase(plan.ViT(patch=4, width=8, layers=1, heads=2), _pixels()),
}

WITH_WORDS = ("bilstm", "encoder")
"""Models over a lexicon of words: the first is under the law of no coupling (`coupling_cases`), the
second needs a checkpoint that no test has.
"""
