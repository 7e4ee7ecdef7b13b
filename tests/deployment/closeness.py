"""A rule of disclosure that a plan names: t-closeness of the label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.k_anonymity.own_rule import CandidateClasses


def t_close(classes: CandidateClasses, *, t: float) -> NDArray[np.bool_]:
    """Allow classes whose labels are distributed nearly as in all rows."""
    shares = classes.by_label / classes.by_label.sum(axis=1, keepdims=True)
    overall = classes.everything / classes.everything.sum()
    return np.asarray(np.abs(shares - overall).sum(axis=1) / 2 <= t)
