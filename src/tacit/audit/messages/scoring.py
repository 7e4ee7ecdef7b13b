"""Scores of inputs from a decoded update, and metrics of scores: pure functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Marks = NDArray[np.bool_]


def get_first_layer(
    tensors: Mapping[str, NDArray[Any]], inputs: int, *, tokens: bool
) -> Numbers | None:
    """First layer with one row per input: an embedding table unchanged, a weight matrix transposed;
    None if there is none.
    """
    for values in tensors.values():
        if values.ndim == 2 and values.shape[0 if tokens else 1] == inputs:
            return np.asarray(values if tokens else values.T, np.float64)
    return None


def score_by_norm(lines: Numbers, way: Numbers) -> Numbers:
    """L2 norm of each input's row; constant, and so useless, for one-bit messages."""
    return np.asarray(np.linalg.norm(lines, axis=1))


def score_by_direction(lines: Numbers, way: Numbers) -> Numbers:
    """Projection of each row onto the direction in which the client's labels push its inputs, as
    estimated from the message.
    """
    return np.asarray(lines @ way)


def score_by_sum(lines: Numbers, way: Numbers) -> Numbers:
    """Projection of each row onto the sum of all rows."""
    together = lines.sum(axis=0)
    return np.asarray(lines @ (together / (np.linalg.norm(together) or 1.0)))


def score_by_main_axis(lines: Numbers, way: Numbers) -> Numbers:
    """Absolute projection of each row onto the first principal axis; the rest is mostly noise."""
    _, axes = np.linalg.eigh(lines.T @ lines)
    return np.asarray(np.abs(lines @ axes[:, -1]))


RULES: tuple[Callable[[Numbers, Numbers], Numbers], ...] = (
    score_by_norm,
    score_by_direction,
    score_by_sum,
    score_by_main_axis,
)
"""Scoring rules; the best one for a client is chosen on the other clients."""


def compute_auc(scores: Numbers, truth: Marks) -> float:
    """Area under the ROC curve, ties counted half; NaN if all items have the same truth."""
    there = int(truth.sum())
    rest = len(truth) - there
    if not there or not rest:
        return float("nan")
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return float((ranks[truth].sum() - there * (there + 1) / 2) / (there * rest))


def precision_at_true_count(scores: Numbers, truth: Marks) -> float:
    """Precision among as many highest scores as there are true items, which equals recall.

    Ties count with their expected value under random tie-breaking.
    """
    there = int(truth.sum())
    if not there:
        return float("nan")
    last = np.partition(scores, len(scores) - there)[len(scores) - there]
    above, tied = scores > last, scores == last
    left = there - int(above.sum())
    return float((truth[above].sum() + left * truth[tied].mean()) / there)


def count_ordered_pairs(scores: Numbers, amounts: Numbers) -> tuple[float, int]:
    """Count pairs with different amounts that the scores order correctly (ties half), and all such
    pairs.
    """
    more = np.sign(amounts[:, None] - amounts[None, :])
    says = np.sign(scores[:, None] - scores[None, :])
    pairs = more > 0
    return float((says[pairs] + 1).sum() / 2), int(pairs.sum())


def choose_rules(figures: Numbers) -> NDArray[np.int64]:
    """For each client, choose the rule with the best mean on the other clients; figures have a row
    per client.
    """
    best = np.zeros(len(figures), np.int64)
    for one in range(len(figures)):
        rest = np.delete(figures, one, axis=0)
        rest = rest[~np.isnan(rest).any(axis=1)]
        best[one] = int(rest.mean(axis=0).argmax()) if len(rest) else 0
    return best
