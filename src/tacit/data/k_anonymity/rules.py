"""Disclosure rules: which equivalence classes are large and diverse enough to be released.

None of these rules is differential privacy, and all of them consider the chosen columns only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.k_anonymity.classes import Classes, group_equal_rows
from tacit.data.k_anonymity.own_rule import ask_own_rule
from tacit.errors import DataError
from tacit.extensions import Reference
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
        case "k_anonymity" | "distinct_l" | "entropy_l" | Reference():
            return group_equal_rows(key, *others)
        case _:
            assert_never(settings.rule)


def find_allowed_classes(
    classes: Classes,
    labels: NDArray[np.int64],
    kinds: Sequence[str],
    settings: RowSharing,
    owner: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Find the classes whose rows may be disclosed, by the rows that were grouped. With an `owner`
    of each row, who is the same within a class, each decides by the owner's rows alone.
    """
    refuse_unreachable_l(settings, len(kinds))
    if not settings.counts_labels:
        return find_allowed_counts(classes.counts()[:, None], settings)
    by_label = classes.by_label(labels, len(kinds))
    if settings.own_rule is None:
        return find_allowed_counts(by_label, settings)
    if owner is None:
        return ask_own_rule(settings, by_label, by_label.sum(axis=0), kinds)
    allowed, first = np.zeros(classes.cells, np.bool_), classes.first_rows()
    used = np.flatnonzero(first >= 0)
    of_class = owner[first[used]]
    for one in np.unique(of_class):
        ours = used[of_class == one]
        allowed[ours] = ask_own_rule(settings, by_label[ours], by_label[ours].sum(axis=0), kinds)
    return allowed


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
        case Reference():
            raise AssertionError("a user-defined rule is asked with the labels of all rows")
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
