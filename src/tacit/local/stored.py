"""A model's named arrays, put back into the flat vector that learners read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import RunError
from tacit.local.contract import Learner
from tacit.rows import Vector

_DIGIT = 1 << 12


def flattened(learner: Learner, stored: Mapping[str, NDArray[Any]]) -> Vector:
    """Return what `learner.tensors` named, as one flat vector; raise RunError if names or shapes are not the learner's.

    The places of an array are read off a model whose values are their own places; in two digits, for float32 ends at 2^24.
    """
    places, model = np.arange(learner.size), np.empty(learner.size, np.float32)
    high, low = (learner.tensors(digit.astype(np.float32)) for digit in (places // _DIGIT, places % _DIGIT))
    ours, theirs = ({name: array.shape for name, array in arrays.items()} for arrays in (high, stored))
    if ours != theirs:
        odd = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
        raise RunError(f"the stored model needs the arrays its settings describe, got other names or shapes ({', '.join(odd[:4])})")
    for name, values in stored.items():
        model[(high[name].astype(np.int64) * _DIGIT + low[name].astype(np.int64)).ravel()] = values.ravel()
    return model
