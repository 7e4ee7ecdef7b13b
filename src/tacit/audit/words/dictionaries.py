"""From vectors to words: what each attacker's dictionary recovers, counted as multisets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Dictionary:
    """Words and the vectors an attacker believes they have."""

    words: tuple[str, ...]
    vectors: Matrix


@dataclass(frozen=True, kw_only=True)
class Score:
    """How much of a text was read: precision, recall and F1 over tokens, and the share of its digit
    tokens.
    """

    precision: float
    recall: float
    f1: float
    digits: float
    tokens: int


def find_nearest(found: Matrix, dictionary: Dictionary) -> list[str]:
    """Find the word with the highest cosine similarity to each vector."""
    if not len(found):
        return []
    alike = _unit(found) @ _unit(dictionary.vectors).T
    return [dictionary.words[place] for place in alike.argmax(axis=1)]


def find_inside_span(basis: Matrix, dictionary: Dictionary, most: int) -> list[str]:
    """Recover `most` words of a text from the span of its vectors: one per direction, then repeats.
    A span does not say how often a word occurs in the text; the remaining places go to the
    recovered words that come first in the dictionary, which are the most frequent.
    """
    if not len(basis):
        return []
    outside = 1 - ((_unit(dictionary.vectors) @ basis.T) ** 2).sum(axis=1)
    found = np.argsort(outside, kind="stable")[: min(len(basis), most, len(outside))]
    repeated = np.sort(found)[: most - len(found)]
    return [dictionary.words[place] for place in (*found, *repeated)]


def shuffle_dictionary(dictionary: Dictionary, generator: np.random.Generator) -> Dictionary:
    """Build a wrong table: the same words with permuted vectors."""
    return Dictionary(
        dictionary.words, dictionary.vectors[generator.permutation(len(dictionary.words))]
    )


def match_by_frequency_and_shape(
    stream: NDArray[np.int64], table: Matrix, public: Dictionary, turns: int = 4
) -> list[str]:
    """Guess the word of each row of an unnamed table: a substitution cipher solved by frequency,
    then by shape.

    `stream` are the row numbers of a client's text in order, `public` words are in order of
    frequency, the most frequent first. The most frequent rows are matched to the most frequent
    words; a rotation is fitted to the matches (Procrustes), every row is matched again under it,
    and so on. The table is also matched without a rotation; the better match is kept. Source: the
    rotation is the orthogonal Procrustes problem (Schönemann, Psychometrika 31, 1966).
    """
    counts = np.bincount(stream, minlength=len(table))
    ours, theirs = _unit(table), _unit(public.vectors)
    ranked = np.zeros(len(table), np.int64)
    ranked[np.argsort(-counts, kind="stable")] = np.minimum(
        np.arange(len(table)), len(public.words) - 1
    )
    begins = (ranked, (ours @ theirs.T).argmax(axis=1))
    guess, _ = max(
        (_align(ours, theirs, counts, begin, turns) for begin in begins),
        key=lambda found: found[1],
    )
    return [public.words[place] for place in guess]


def _align(
    ours: Matrix, theirs: Matrix, counts: NDArray[np.int64], guess: NDArray[np.int64], turns: int
) -> tuple[NDArray[np.int64], float]:
    """Alternate between fitting a rotation and matching; return the matches and the similarity of
    matched rows.
    """
    sure = np.argsort(-counts, kind="stable")[: max(ours.shape[1], 200)]
    for turn in range(turns):
        left, _, right = np.linalg.svd(ours[sure].T @ theirs[guess[sure]])
        alike = (ours @ (left @ right)) @ theirs.T
        guess, trust = alike.argmax(axis=1), alike.max(axis=1)
        sure = np.argsort(-trust * np.log1p(counts), kind="stable")[: 200 + 200 * turn]
    return guess, float(trust.mean())


def score(truth: list[str], guess: list[str]) -> Score:
    """Measure how much of one text a guess contains; a token counts as often as it occurs in both."""
    real, ours = Counter(truth), Counter(guess)
    hits = sum((real & ours).values())
    precision, recall = hits / max(1, len(guess)), hits / max(1, len(truth))
    digits = Counter(word for word in truth if any(letter.isdigit() for letter in word))
    leaked = sum((digits & ours).values()) / digits.total() if digits else float("nan")
    both = precision + recall
    return Score(
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / both if both else 0.0,
        digits=leaked,
        tokens=len(truth),
    )


def average_scores(scores: list[Score]) -> Score:
    """Average over texts; digits over the texts that have any."""

    def over(name: str) -> float:
        values = [getattr(one, name) for one in scores]
        present = [value for value in values if value == value]
        return float(np.mean(present)) if present else 0.0

    return Score(
        precision=over("precision"),
        recall=over("recall"),
        f1=over("f1"),
        digits=over("digits"),
        tokens=sum(one.tokens for one in scores),
    )


def _unit(rows: Matrix) -> Matrix:
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return np.asarray(rows / lengths, np.float32)
