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
    """Find the classes whose rows may be disclosed, by the rows that were grouped."""
    refuse_unreachable_l(settings, kinds)
    match settings.rule:
        case "k_anonymity" | "label_k":
            return find_allowed_counts(classes.counts()[:, None], settings)
        case "distinct_l" | "entropy_l":
            return find_allowed_counts(classes.by_label(labels, kinds), settings)
        case _:
            assert_never(settings.rule)


def find_allowed_counts(by_label: NDArray[np.int64], settings: RowSharing) -> NDArray[np.bool_]:
    """Find the classes whose rows may be disclosed, by their rows of each label; one column where
    the rule needs no labels.

    `k_anonymity`: at least k rows, or k + 1 where k counts other rows. `label_k`: the same with
    classes split by label; every class then has one label, so this is not l-diversity, although the
    paper calls it that. `distinct_l`: also at least l different labels. `entropy_l`: also a label
    entropy of at least ln(l). Source: Sweeney 2002 (k-anonymity); Machanavajjhala et al. 2007
    (distinct and entropy l-diversity).
    """
    is_large = by_label.sum(axis=1) >= settings.rows_alike
    match settings.rule:
        case "k_anonymity" | "label_k":
            return np.asarray(is_large)
        case "distinct_l":
            return np.asarray(is_large & ((by_label > 0).sum(axis=1) >= (settings.l or 1)))
        case "entropy_l":
            least = math.log(settings.l or 1) - _TINY
            return np.asarray(is_large & (compute_entropy(by_label) >= least))
        case _:
            assert_never(settings.rule)


def refuse_unreachable_l(settings: RowSharing, kinds: int) -> None:
    """Raise DataError if a rule asks for more labels than there are."""
    if settings.l is not None and settings.l > kinds:
        raise DataError(
            f"data.share.l = {settings.l:g} exceeds the number of label classes, {kinds}; lower it"
            f" to at most {kinds}"
        )


def compute_entropy(by_label: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the label entropy (nats) of each class; 0 for an empty class."""
    share = by_label / np.maximum(by_label.sum(axis=1, keepdims=True), 1)
    logs = np.log(share, where=share > 0, out=np.zeros_like(share))
    return np.asarray(-(share * logs).sum(axis=1))
