"""Disclosure rules: which equivalence classes are large and diverse enough to be released.

None of these rules is differential privacy, and all of them consider the chosen columns only.
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.k_anonymity.classes import Classes, group_equal_rows
from tacit.errors import DataError
from tacit.plan import RowSharing

_TINY = 1e-12
"""Tolerance of a sum of logarithms: an even split of two labels has an entropy of ln 2 minus a
rounding error.
"""


def group_by_key(
    key: pl.DataFrame, owner: pl.Series | None, label: pl.Series, settings: RowSharing
) -> Classes:
    """Group rows by the key, by owner if given, and with `label_k` by label."""
    others = [] if owner is None else [owner]
    match settings.rule:
        case "label_k":
            return group_equal_rows(key, *others, label)
        case "k_anonymity" | "distinct_l" | "entropy_l":
            return group_equal_rows(key, *others)
        case _:
            assert_never(settings.rule)


def find_allowed_classes(
    classes: Classes, labels: NDArray[np.int64], kinds: int, settings: RowSharing
) -> NDArray[np.bool_]:
    """Find the classes whose rows may be disclosed.

    `k_anonymity`: at least k rows, or k + 1 where k counts other rows. `label_k`: the same with
    classes split by label; every class then has one label, so this is not l-diversity, although the
    paper calls it that. `distinct_l`: also at least l different labels. `entropy_l`: also a label
    entropy of at least ln(l). Source: Sweeney 2002 (k-anonymity); Machanavajjhala et al. 2007
    (distinct and entropy l-diversity).
    """
    match settings.rule:
        case "k_anonymity" | "label_k":
            return np.asarray(classes.counts() >= settings.rows_alike)
        case "distinct_l":
            by_label, least = _count_by_label(classes, labels, kinds, settings)
            return np.asarray(
                (by_label.sum(axis=1) >= settings.rows_alike)
                & ((by_label > 0).sum(axis=1) >= least)
            )
        case "entropy_l":
            by_label, least = _count_by_label(classes, labels, kinds, settings)
            return np.asarray(
                (by_label.sum(axis=1) >= settings.rows_alike)
                & (compute_entropy(by_label) >= math.log(least) - _TINY)
            )
        case _:
            assert_never(settings.rule)


def _count_by_label(
    classes: Classes, labels: NDArray[np.int64], kinds: int, settings: RowSharing
) -> tuple[NDArray[np.int64], float]:
    """Count the rows of each label in each class; also return the plan's l."""
    assert settings.l is not None, "a checked plan says l"
    if settings.l > kinds:
        raise DataError(
            f"data.share.l = {settings.l:g} exceeds the number of label classes, {kinds}; lower it"
            f" to at most {kinds}"
        )
    return classes.by_label(labels, kinds), settings.l


def compute_entropy(by_label: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the label entropy (nats) of each class; 0 for an empty class."""
    share = by_label / np.maximum(by_label.sum(axis=1, keepdims=True), 1)
    logs = np.log(share, where=share > 0, out=np.zeros_like(share))
    return np.asarray(-(share * logs).sum(axis=1))
