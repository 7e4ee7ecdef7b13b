"""From what was decoded to scores, and how good scores are: pure functions of arrays."""

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
    """Return the first layer with a line per input: a word table as it is, weights the other way
    round; None if there is none.
    """
    for values in tensors.values():
        if values.ndim == 2 and values.shape[0 if tokens else 1] == inputs:
            return np.asarray(values if tokens else values.T, np.float64)
    return None


def score_by_norm(lines: Numbers, way: Numbers) -> Numbers:
    """Return how much each input's line changed. Bits all have one length, so from them this says
    nothing.
    """
    return np.asarray(np.linalg.norm(lines, axis=1))


def score_by_direction(lines: Numbers, way: Numbers) -> Numbers:
    """Return how far each line moved the way that a client's labels push all its inputs, as far as
    the message tells the labels.
    """
    return np.asarray(lines @ way)


def score_by_sum(lines: Numbers, way: Numbers) -> Numbers:
    """Return how far each line moved the way that all lines moved together."""
    together = lines.sum(axis=0)
    return np.asarray(lines @ (together / (np.linalg.norm(together) or 1.0)))


def score_by_main_axis(lines: Numbers, way: Numbers) -> Numbers:
    """Return how far each line moved along the axis on which lines move most, either way: the rest
    is mostly noise.
    """
    _, axes = np.linalg.eigh(lines.T @ lines)
    return np.asarray(np.abs(lines @ axes[:, -1]))


RULES: tuple[Callable[[Numbers, Numbers], Numbers], ...] = (
    score_by_norm,
    score_by_direction,
    score_by_sum,
    score_by_main_axis,
)
"""How an attacker may score inputs; which rule serves best is found out on other clients than the
one that is attacked.
"""


def compute_auc(scores: Numbers, truth: Marks) -> float:
    """Return how often something that is there scores higher than something that is not, ties
    counted half; NaN if all is one.
    """
    there = int(truth.sum())
    rest = len(truth) - there
    if not there or not rest:
        return float("nan")
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return float((ranks[truth].sum() - there * (there + 1) / 2) / (there * rest))


def precision_at_true_count(scores: Numbers, truth: Marks) -> float:
    """Return the share of what is there among as many highest scores: precision and recall at the
    true number are the same.

    Of inputs with equal scores each counts as often as a fair draw among them takes it.
    """
    there = int(truth.sum())
    if not there:
        return float("nan")
    last = np.partition(scores, len(scores) - there)[len(scores) - there]
    above, tied = scores > last, scores == last
    left = there - int(above.sum())
    return float((truth[above].sum() + left * truth[tied].mean()) / there)


def count_ordered_pairs(scores: Numbers, amounts: Numbers) -> tuple[float, int]:
    """Return of how many pairs with different amounts the scores say which is larger, ties counted
    half, and of how many pairs.
    """
    more = np.sign(amounts[:, None] - amounts[None, :])
    says = np.sign(scores[:, None] - scores[None, :])
    pairs = more > 0
    return float((says[pairs] + 1).sum() / 2), int(pairs.sum())


def choose_rules(figures: Numbers) -> NDArray[np.int64]:
    """Return for each client the rule that does best on average for the other ones; figures have a
    row per client.
    """
    best = np.zeros(len(figures), np.int64)
    for one in range(len(figures)):
        rest = np.delete(figures, one, axis=0)
        rest = rest[~np.isnan(rest).any(axis=1)]
        best[one] = int(rest.mean(axis=0).argmax()) if len(rest) else 0
    return best
