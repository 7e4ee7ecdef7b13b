"""Repeated releases of growing data: what remains of k for an attacker who subtracts an earlier
release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.data.k_anonymity.classes import Classes

Again = Literal["whole_class", "newcomers"]


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Rows by group over all releases; a group is the rows of one class in one release, which
    subtraction isolates.

    `few`: rows in groups smaller than k. `alone`: rows in groups of one, so that knowing when a
    person joined identifies their row. `few_one_label`: rows of `few` whose group has a single
    label, which is then revealed.
    """

    rows: int
    shared: int
    few: int
    alone: int
    few_one_label: int


def compare_releases(
    classes: Classes, labels: NDArray[np.int64], arrived: NDArray[np.int64], k: int, again: Again
) -> Differences:
    """Measure what repeated releases reveal when rows arrive before release 0, 1, …

    `whole_class`: a row is released once its class has k rows, earlier released ones included; each
    release is k-anonymous, differences of two need not be. `newcomers`: rows of a class wait until
    k of them can be released together.

    Guarantees: with newcomers no group is smaller than k. Edge case: a single release is the same
    either way.
    """
    left = np.full(len(classes), -1, np.int64)
    for release in range(int(arrived.max(initial=-1)) + 1):
        there, waiting = arrived <= release, (arrived <= release) & (left < 0)
        enough = _count(classes, there if again == "whole_class" else waiting) >= k
        left[waiting & classes.spread(enough)] = release
    gone = left >= 0
    group = classes.of_row[gone].astype(np.int64) * (int(left.max(initial=0)) + 1) + left[gone]
    _, number, sizes = np.unique(group, return_inverse=True, return_counts=True)
    kinds = np.zeros(len(sizes), np.int64)
    np.add.at(kinds, np.unique(np.stack([number, labels[gone]]), axis=1)[0], 1)
    few = sizes[number] < k
    return Differences(
        rows=len(classes),
        shared=int(gone.sum()),
        few=int(few.sum()),
        alone=int((sizes == 1).sum()),
        few_one_label=int((few & (kinds[number] == 1)).sum()),
    )


def _count(classes: Classes, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.bincount(classes.of_row[rows], minlength=classes.cells)
