"""Texts as word vectors: averaged, or concatenated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from tacit.rows import Sparse


class WordVectors:
    """Words with a vector each."""

    def __init__(self, words: Sequence[str], matrix: NDArray[np.float32]) -> None:
        self.places = {word: place for place, word in enumerate(words)}
        self.matrix = matrix

    def average(self, texts: Iterable[Sequence[str]]) -> NDArray[np.float32]:
        """One row per text: the mean of its words' vectors, counting repeated words.

        Edge cases: words without a vector are left out; a text without any known word becomes zero.
        """
        return np.stack(
            [
                self._mean([self.places[word] for word in text if word in self.places])
                for text in texts
            ]
        )

    def laid_flat(self, texts: Sequence[Sequence[str]], most: int) -> csr_matrix:
        """One row per text: the vectors of its first `most` words concatenated, padded with zeros."""
        known = [
            [self.places[word] for word in text if word in self.places][:most] for text in texts
        ]
        lengths = [len(places) * self.matrix.shape[1] for places in known]
        columns = [np.arange(length, dtype=np.int32) for length in lengths]
        values = self.matrix[[place for places in known for place in places]].ravel()
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return csr_matrix(
            (values, np.concatenate(columns), starts),
            shape=(len(texts), most * self.matrix.shape[1]),
        )

    def _mean(self, places: list[int]) -> NDArray[np.float32]:
        if not places:
            return np.zeros(self.matrix.shape[1], np.float32)
        mean: NDArray[np.float32] = self.matrix[places].mean(axis=0, dtype=np.float32)
        return mean


def sparse_rows(matrix: csr_matrix) -> Sparse:
    """Convert a scipy matrix to rows of a data set."""
    return Sparse(
        starts=matrix.indptr.astype(np.int64), columns=matrix.indices.astype(np.int32),
        values=matrix.data.astype(np.float32, copy=False), width=matrix.shape[1],
    )  # fmt: skip
