"""Disclose or keep: which classes of rows that look alike are large and mixed enough to leave.

None of these rules is differential privacy, and all of them speak of the chosen columns only.
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.disclose.classes import Classes, alike
from tacit.errors import DataError
from tacit.plan import Sharing

_TINY = 1e-12
"""What a sum of logarithms may lose: an even split of two labels has an entropy of ln 2 less a rounding error."""


def key_classes(key: pl.DataFrame, owner: pl.Series | None, label: pl.Series, settings: Sharing) -> Classes:
    """Return the classes the rule counts: rows alike in the key, of one owner if given, and with `label_k` of one label."""
    beside = [] if owner is None else [owner]
    match settings.rule:
        case "label_k":
            return alike(key, *beside, label)
        case "k_anonymity" | "distinct_l" | "entropy_l":
            return alike(key, *beside)
        case _:
            assert_never(settings.rule)


def allowed(classes: Classes, labels: NDArray[np.int64], kinds: int, settings: Sharing) -> NDArray[np.bool_]:
    """Return for each class whether its rows may be disclosed.

    `k_anonymity`: at least k rows, or one more where k counts other rows. `label_k`: the same, where `classes` tell labels
    apart: every class has one label then, so this is no l-diversity, whatever the paper calls it. `distinct_l`: as many
    rows, with at least l different labels. `entropy_l`: as many rows, whose labels have an entropy of at least ln(l).
    Source: Sweeney 2002 (k-anonymity); Machanavajjhala et al. 2007 (the two true l-diversities).
    """
    match settings.rule:
        case "k_anonymity" | "label_k":
            return np.asarray(classes.counts() >= settings.rows_alike)
        case "distinct_l":
            by_label, least = _labels(classes, labels, kinds, settings)
            return np.asarray((by_label.sum(axis=1) >= settings.rows_alike) & ((by_label > 0).sum(axis=1) >= least))
        case "entropy_l":
            by_label, least = _labels(classes, labels, kinds, settings)
            return np.asarray((by_label.sum(axis=1) >= settings.rows_alike) & (entropy(by_label) >= math.log(least) - _TINY))
        case _:
            assert_never(settings.rule)


def _labels(
    classes: Classes, labels: NDArray[np.int64], kinds: int, settings: Sharing
) -> tuple[NDArray[np.int64], float]:  # fmt: skip
    """Return how many rows of each label a class has, and the plan's l."""
    assert settings.l is not None, "a checked plan says l"
    if settings.l > kinds:
        raise DataError(
            f"data.share.l = {settings.l:g} needs at least as many classes of the label, got {kinds}; lower it to at most {kinds}"
        )
    return classes.by_label(labels, kinds), settings.l


def entropy(by_label: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy (nats) of the labels of each class; an empty class has none."""
    share = by_label / np.maximum(by_label.sum(axis=1, keepdims=True), 1)
    logs = np.log(share, where=share > 0, out=np.zeros_like(share))
    return np.asarray(-(share * logs).sum(axis=1))
