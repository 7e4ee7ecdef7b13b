"""Read one batch of a client's texts in every available way, as a published attack table needs it.

In addition to the attackers of `tacit.audit.words.reconstruct`: one sees which rows of a shared
table have a gradient, one sent a crafted model. An encoder adds positions to word vectors and
normalises them before its first layer; attackers do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tacit.audit.words.dictionaries import (
    Dictionary,
    Score,
    average_scores,
    find_inside_span,
    score,
    shuffle_dictionary,
)
from tacit.audit.words.inversion import compute_gradient, find_span, stack_first_layer
from tacit.audit.words.reconstruct import list_public_words
from tacit.audit.words.victims import ClientUnderAttack
from tacit.randomness import Draws
from tacit.training.private.word_networks import TransformerReader, WordNetwork
from tacit_papers.fedvocab.crafted import read_traps, set_traps

Enter = Callable[[NDArray[np.float32], int], NDArray[np.float32]]
"""Maps word vectors and a position in the text to the inputs of the first layer."""

WAYS = ("wrong table", "public table", "knows the table", "table rows", "crafted reader")


@dataclass(frozen=True)
class Batch:
    """The words of a batch, the gradients of the shared parameters, and the span of the first
    layer's inputs.
    """

    words: list[str]
    places: int
    texts: int
    gradients: dict[str, torch.Tensor]
    basis: NDArray[np.float32]


def readings(
    victim: ClientUnderAttack, rows: NDArray[np.int64], batch: int, draws: Draws
) -> dict[str, Score]:
    """Mean score of each attacker over a client's batches; it sees the true gradient of each batch."""
    public, known = list_public_words(victim), victim.table()
    wrong = shuffle_dictionary(public, draws.at("wrong").generator())
    module = victim.module()
    begun = victim.learner.module
    assert isinstance(begun, WordNetwork)
    outside, insider = _entries(begun.reader), _entries(module.reader)
    scores: dict[str, list[Score]] = {way: [] for way in WAYS}
    for first in range(0, len(rows) - batch + 1, batch):
        some = rows[first : first + batch]
        seen = _observe_batch(victim, some)
        tables = {
            "wrong table": (wrong, outside),
            "public table": (public, outside),
            "knows the table": (known, insider),
        }
        for way, (table, enter) in tables.items():
            scores[way].append(score(seen.words, _read_by_span(seen, table, enter)))
        scores["table rows"].append(score(seen.words, _read_by_rows(victim, seen)))
        if not isinstance(module.reader, TransformerReader):
            scores["crafted reader"].append(
                score(seen.words, _read_by_traps(victim, some, public, draws))
            )
    return {way: average_scores(found) for way, found in scores.items() if found}


def _observe_batch(victim: ClientUnderAttack, some: NDArray[np.int64]) -> Batch:
    texts = victim.texts(some)
    words = [word for text in texts for word in text]
    gradients = victim.gradient(some).gradients
    return Batch(
        words,
        max(len(text) for text in texts),
        len(texts),
        gradients,
        find_span(stack_first_layer(gradients), len(words)),
    )


def _entries(reader: torch.nn.Module) -> Enter | None:
    """What an encoder does to word vectors before its first layer; None if the first layer takes
    them unchanged.
    """
    if not isinstance(reader, TransformerReader):
        return None
    embeddings = reader.transformer.embeddings.eval()

    @torch.no_grad()
    def enter(vectors: NDArray[np.float32], place: int) -> NDArray[np.float32]:
        where = torch.full((len(vectors), 1), place)
        made = embeddings(inputs_embeds=torch.from_numpy(vectors).unsqueeze(1), position_ids=where)
        return np.asarray(made.squeeze(1).numpy(), np.float32)

    return enter


def _read_by_span(seen: Batch, table: Dictionary, enter: Enter | None) -> list[str]:
    if enter is None:
        return find_inside_span(seen.basis, table, len(seen.words))
    found: list[str] = []
    for place in range(seen.places):  # a place holds at most one word of each text
        entered = enter(table.vectors, place)
        missing = 1 - (
            ((entered @ seen.basis.T) / np.linalg.norm(entered, axis=1, keepdims=True)) ** 2
        ).sum(axis=1)
        found += [table.words[one] for one in np.argsort(missing, kind="stable")[: seen.texts]]
    return found[: len(seen.words)]


def _read_by_rows(victim: ClientUnderAttack, seen: Batch) -> list[str]:
    """The words whose rows of a shared table have a gradient: exact at any batch size, and empty if
    no table is shared.
    """
    table = seen.gradients.get("words.shared")
    lexicon, rows = victim.learner.home.lexicon, victim.words.rows
    if table is None or lexicon is None or not len(table):
        return []
    moved = table.abs().sum(1).numpy() > 0
    touched = [
        token
        for token in range(len(lexicon.words))
        if 1 < rows[token] < len(table) and moved[rows[token]]
    ]
    repeated = touched[
        : max(0, len(seen.words) - len(touched))
    ]  # most frequent first: they stand more than once
    return [lexicon.words[token] for token in (*touched, *repeated)]


def _read_by_traps(
    victim: ClientUnderAttack, some: NDArray[np.int64], public: Dictionary, draws: Draws
) -> list[str]:
    module: WordNetwork = victim.module()
    inputs, labels = victim.batch(some)
    words = int((inputs != 0).sum())
    set_traps(module, public, words, draws.at("traps").generator())
    return read_traps(compute_gradient(module, inputs, labels), public, words)
