"""From buckets to words: a public dictionary hashed as in the plan, and the words of the clients
under attack.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from tacit import features
from tacit.audit.messages.scoring import Marks
from tacit.plan import Features, Plan
from tacit.simulation.prepared_rows import SimulatedData, trained_on

Shelves = dict[int, list[str]]
"""Words by the input they map to."""


@dataclass(frozen=True)
class WordIndex:
    """Public words by input, most frequent first, and each client's own."""

    public: Shelves
    own: dict[int, Shelves]

    @property
    def words(self) -> int:
        """Number of public words."""
        return sum(map(len, self.public.values()))

    @property
    def sharing(self) -> float:
        """Mean number of public words that share an input, over public words."""
        return (
            fmean(len(words) for words in self.public.values() for _ in words)
            if self.public
            else 0.0
        )

    def named(self, guessed: NDArray[np.int64], client: int) -> float:
        """Share of a client's words that are the most frequent public word of a guessed input."""
        own = {word for words in self.own[client].values() for word in words}
        guess = {self.public[place][0] for place in guessed.tolist() if place in self.public}
        return len(guess & own) / len(own) if own else float("nan")


def build_word_index(
    job: Plan, data: SimulatedData, marks_by_client: dict[int, Marks]
) -> WordIndex | None:
    """Find the words of clients, by client name, from the inputs of their rows; None if a client's
    texts are not known.

    Words of a list are public. Of hashed words, those in the test rows are taken as public, because
    these are texts of the same kind.
    """
    if not data.columns.text:
        return None
    if data.fitted.words:
        listed = dict(enumerate(data.fitted.words))
        own = {
            name: {place: [word] for place, word in listed.items() if marks[place]}
            for name, marks in marks_by_client.items()
        }
        return WordIndex({place: [word] for place, word in listed.items()}, own)
    if job.data.share is not None or job.data.deal == "every_round":
        return None
    table, clients = trained_on(job)
    own = {}
    for name in marks_by_client:
        rows = clients.order[clients.starts[name] : clients.starts[name + 1]]
        own[name] = group_by_bucket(
            features.count_words(table.train[rows], data.columns, job.features), job.features
        )
    return WordIndex(
        group_by_bucket(features.count_words(table.test, data.columns, job.features), job.features),
        own,
    )


def group_by_bucket(counts: Counter[str], settings: Features) -> Shelves:
    """Group words by bucket, the most frequent first, ties in alphabetical order."""
    words = sorted(counts, key=lambda word: (-counts[word], word))
    found: Shelves = {}
    for word, place in zip(
        words, features.find_word_buckets(words, settings).tolist(), strict=True
    ):
        if place >= 0:
            found.setdefault(place, []).append(word)
    return found
