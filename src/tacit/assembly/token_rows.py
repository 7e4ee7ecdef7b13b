"""Token rows for models with word tables: the lexicon, and the public vectors of its words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit import data, features
from tacit.data.named.vectors import load_vectors
from tacit.data.named.weights import get_weights_folder
from tacit.errors import DataError
from tacit.plan import Columns, Encoder, Plan
from tacit.rows import Lexicon, Rows
from tacit.training.private.vocabulary import find_stem


class TokenRows(NamedTuple):
    """Tables as word numbers, the words these stand for, and the function that encodes a further
    table with the same words.
    """

    tables: tuple[Rows, ...]
    lexicon: Lexicon
    encode: Callable[[pl.DataFrame], Rows]


def encode_token_rows(
    plan: Plan,
    tables: Sequence[pl.DataFrame],
    columns: Columns,
    fitted: features.Fitted,
    secret: bytes,
    progress: data.Progress | None,
) -> TokenRows:
    """Encode tables as word numbers, the training rows first.

    `secret` is the clients', for quantised columns besides the text.
    """
    checkpoint = find_checkpoint(plan, progress)
    split = (
        features.build_piece_splitter(checkpoint)
        if checkpoint
        else features.build_word_splitter(plan.features.stop_words)
    )
    private = plan.private.words == "all"
    # If words are private, each client decides which of its words are rare.
    settings = replace(plan.features, min_count=1) if private else plan.features
    reading = features.TokenEncoding(
        columns=columns, settings=settings, fitted=fitted, split=split, secret=secret
    )
    encoded, words = features.encode_words(tuple(tables), reading)
    lexicon = replace(
        _lexicon(plan, words, checkpoint, progress),
        min_count=plan.features.min_count if private else 1,
    )
    return TokenRows(encoded, lexicon, lambda frame: features.encode_further(frame, reading, words))


def encode_new_token_rows(
    plan: Plan, table: pl.DataFrame, columns: Columns, fitted: features.Fitted, secret: bytes
) -> tuple[Rows, Lexicon]:
    """Encode rows without labels as word numbers; also return the words these stand for."""
    label = pl.lit(fitted.classes[0]).alias(columns.label or "")  # not read
    rows = encode_token_rows(plan, (table.with_columns(label),), columns, fitted, secret, None)
    return rows.tables[0], rows.lexicon


def find_checkpoint(plan: Plan, progress: data.Progress | None = None) -> Path | None:
    """The folder of the plan's checkpoint, if it names one."""
    return (
        get_weights_folder(plan.model.checkpoint, "model.checkpoint", progress)
        if isinstance(plan.model, Encoder)
        else None
    )


def _lexicon(
    plan: Plan, words: tuple[str, ...], checkpoint: Path | None, progress: data.Progress | None
) -> Lexicon:
    """The words and their stems with their public vectors, if any."""
    stemmed = (
        ()
        if plan.private.spelling == "word"
        else tuple(sorted({find_stem(word) for word in words}))
    )
    if checkpoint:
        table = read_piece_table(checkpoint)
        known = [word for word in stemmed if word in table]
        stems = dict(zip(known, table.of(known), strict=True)) if known else {}
        return Lexicon(words=words, vectors=table.of(words), spread=table.spread, stems=stems)
    if plan.private.start == "random":
        return Lexicon(words=words)
    stems = dict(zip(stemmed, get_glove_vectors(stemmed, progress), strict=True)) if stemmed else {}
    return Lexicon(words=words, vectors=get_glove_vectors(words, progress), stems=stems)


def get_glove_vectors(
    words: tuple[str, ...], progress: data.Progress | None = None
) -> NDArray[np.float32]:
    """GloVe vectors of words; zeros for a word that has none."""
    known, matrix = load_vectors("glove100", progress)
    place = {word: number for number, word in enumerate(known)}
    found = np.zeros((len(words), matrix.shape[1]), np.float32)
    for row, word in enumerate(words):
        if word in place:
            found[row] = matrix[place[word]]
    return found


@dataclass(frozen=True)
class PieceTable:
    """The word pieces of a checkpoint and their vectors."""

    vocabulary: Mapping[str, int]
    vectors: NDArray[np.float32]

    def __contains__(self, word: str) -> bool:
        return word in self.vocabulary

    @property
    def spread(self) -> float:
        """Standard deviation of all coordinates."""
        return float(self.vectors.std())

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of some pieces."""
        return self.vectors[[self.vocabulary[word] for word in words]]


def read_piece_table(checkpoint: Path) -> PieceTable:
    """Read a checkpoint's table of word pieces."""
    from safetensors import SafetensorError, safe_open

    try:
        vocabulary = json.loads((checkpoint / "tokenizer.json").read_text(encoding="utf-8"))[
            "model"
        ]["vocab"]
        with safe_open(str(checkpoint / "model.safetensors"), framework="numpy") as file:
            name = next(key for key in file.keys() if key.endswith("word_embeddings.weight"))  # noqa: SIM118
            table = file.get_tensor(name)
        return PieceTable(dict(vocabulary), np.asarray(table, np.float32))
    except (OSError, ValueError, LookupError, TypeError, StopIteration, SafetensorError) as error:
        raise DataError(
            f"model.checkpoint = {str(checkpoint)!r} must be a BERT-type checkpoint: tokenizer.json"
            " with a vocabulary, and word_embeddings.weight in model.safetensors"
            f" ({type(error).__name__})"
        ) from None
