"""Rows shared again as data grow: what is left of k for someone who kept the release before and takes it off the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.data.disclose.classes import Classes

Again = Literal["whole_class", "newcomers"]


@dataclass(frozen=True, kw_only=True)
class Differences:
    """What left over all releases, by groups: rows of one class that left in the same release, which subtraction shows.

    `few`: rows whose group has fewer than k. `alone`: rows that are a group by themselves, so that whoever knows when a person
    came knows their row. `few_one_label`: rows of `few` whose group has one label only, which is then known for sure.
    """

    rows: int
    shared: int
    few: int
    alone: int
    few_one_label: int


def differences(classes: Classes, labels: NDArray[np.int64], arrived: NDArray[np.int64], k: int, again: Again) -> Differences:
    """Return what is learnt from rows that arrive before release 0, 1, …, of which each is decided by the rows there are.

    `whole_class`: a row leaves as soon as its class has k rows, those that left before among them; one release alone is
    k-anonymous, differences of two need not be. `newcomers`: rows of a class wait until k of them can leave together.

    Guarantees: with newcomers nobody is in a group of fewer than k. Edge case: a single release is the same either way.
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
