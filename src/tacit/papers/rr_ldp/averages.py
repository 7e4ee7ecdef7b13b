"""A text as the average of its words' vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


class Lexicon:
    """Words with a vector each."""

    def __init__(self, words: Sequence[str], matrix: NDArray[np.float32]) -> None:
        self.places = {word: place for place, word in enumerate(words)}
        self.matrix = matrix

    def average(self, texts: Iterable[Sequence[str]]) -> NDArray[np.float32]:
        """Return one row a text: the mean of its words' vectors, repeated words counting again.

        Edge cases: a word without a vector is left out; a text without any word that has one becomes zero.
        """
        return np.stack([self._mean([self.places[word] for word in text if word in self.places]) for text in texts])

    def _mean(self, places: list[int]) -> NDArray[np.float32]:
        if not places:
            return np.zeros(self.matrix.shape[1], np.float32)
        mean: NDArray[np.float32] = self.matrix[places].mean(axis=0, dtype=np.float32)
        return mean
