"""Rows as words for models with word tables: the lexicon of the simulation, and the public vectors that go with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit import data, features
from tacit.data.named.vectors import vectors
from tacit.data.named.weights import weights
from tacit.errors import DataError
from tacit.plan import Encoder, Plan
from tacit.rows import Lexicon, Rows


class Worded(NamedTuple):
    """Train and test rows as word numbers, what the numbers stand for, and what makes further rows of the same words."""

    train: Rows
    test: Rows
    lexicon: Lexicon
    encode: Callable[[pl.DataFrame], Rows]


def worded(plan: Plan, table: data.Table, fitted: features.Fitted, secret: bytes, progress: data.Progress | None) -> Worded:
    """Return a table's rows as word numbers; `secret` is the clients', for columns beside the words that become tokens."""
    checkpoint = checkpoint_of(plan, progress)
    split = features.word_pieces(checkpoint) if checkpoint else features.plain_words(plan.features.stop_words)
    reading = features.Reading(columns=table.columns, settings=plan.features, fitted=fitted, split=split, secret=secret)
    (train, test), words = features.encode_words((table.train, table.test), reading)
    lexicon = Lexicon(words=words, vectors=_public(plan, words, checkpoint, progress))
    return Worded(train, test, lexicon, lambda frame: features.encode_further(frame, reading, words))


def checkpoint_of(plan: Plan, progress: data.Progress | None = None) -> Path | None:
    """Return the folder of the plan's checkpoint, if it names one."""
    return weights(plan.model.checkpoint, "model.checkpoint", progress) if isinstance(plan.model, Encoder) else None


def _public(
    plan: Plan, words: tuple[str, ...], checkpoint: Path | None, progress: data.Progress | None
) -> NDArray[np.float32] | None:
    if checkpoint:
        return piece_vectors(checkpoint, words)
    return vectors_for(words, progress) if plan.private.start != "random" else None


def vectors_for(words: tuple[str, ...], progress: data.Progress | None = None) -> NDArray[np.float32]:
    """Return the words' GloVe vectors; a word that has none gets zeros."""
    known, matrix = vectors("glove100", progress)
    place = {word: number for number, word in enumerate(known)}
    found = np.zeros((len(words), matrix.shape[1]), np.float32)
    for row, word in enumerate(words):
        if word in place:
            found[row] = matrix[place[word]]
    return found


def piece_vectors(checkpoint: Path, words: tuple[str, ...]) -> NDArray[np.float32]:
    """Return the vectors of word pieces in a checkpoint's own table."""
    from safetensors import SafetensorError, safe_open

    try:
        vocabulary = json.loads((checkpoint / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
        with safe_open(str(checkpoint / "model.safetensors"), framework="numpy") as file:
            name = next(key for key in file.keys() if key.endswith("word_embeddings.weight"))  # noqa: SIM118
            table = file.get_tensor(name)
        return np.stack([table[vocabulary[word]] for word in words]).astype(np.float32)
    except (OSError, ValueError, LookupError, TypeError, StopIteration, SafetensorError) as error:
        raise DataError(
            f"model.checkpoint = {str(checkpoint)!r} needs a BERT-type checkpoint: tokenizer.json with a vocabulary, and its "
            f"word_embeddings.weight in model.safetensors; got {type(error).__name__}"
        ) from None
