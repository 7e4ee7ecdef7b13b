"""Text columns as the output of a frozen encoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import polars as pl

from tacit.errors import DataError, PlanError
from tacit.features.text.hashed_text import join_texts
from tacit.plan import Columns
from tacit.rows import Dense, Vector


class TextReader(ABC):
    """A frozen text encoder: texts in, one row of `width` numbers per text out, in order."""

    name: str
    width: int
    digest: str
    """Hash of the weights, the tokenizer and the settings that determine the output."""

    @abstractmethod
    def read_texts(self, texts: Sequence[str]) -> Vector:
        """Compute one row per text."""


def encode_texts(
    frame: pl.DataFrame, columns: Columns, reader: TextReader | None, digest: str
) -> Dense:
    """Encode the joined text columns of each row as a row of L2 norm 1; `digest` is that of the
    encoder used in training.
    """
    if reader is None:
        raise PlanError("features.text = 'encoder' needs the reader of features.encoder")
    if reader.digest != digest:
        raise DataError(
            f"features.encoder = {reader.name!r}: its files have the hash {reader.digest}, and the"
            f" model was trained with {digest or 'none'}; use the same encoder"
        )
    rows = reader.read_texts(join_texts(frame, columns).to_list())
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    matrix = np.asarray(rows / np.where(norms > 0, norms, 1.0), np.float32)
    return Dense(matrix=matrix, width=reader.width)
