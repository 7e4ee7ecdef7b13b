"""Convert a model's named arrays back into the flat vector that learners use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import RunError
from tacit.rows import Vector
from tacit.training.contract import Learner

_DIGIT = 1 << 12


def flatten_parameters(learner: Learner, stored: Mapping[str, NDArray[Any]]) -> Vector:
    """Invert `learner.tensors`; raise RunError if names or shapes are not the learner's.

    Positions are found by passing a model whose values are their own positions, split into two
    digits because float32 integers are exact only up to 2^24.
    """
    places, model = np.arange(learner.size), np.empty(learner.size, np.float32)
    high, low = (
        learner.tensors(digit.astype(np.float32)) for digit in (places // _DIGIT, places % _DIGIT)
    )
    ours, theirs = (
        {name: array.shape for name, array in arrays.items()} for arrays in (high, stored)
    )
    if ours != theirs:
        odd = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
        raise RunError(
            f"names or shapes of the stored model do not match its settings ({', '.join(odd[:4])})"
        )
    for name, values in stored.items():
        model[(high[name].astype(np.int64) * _DIGIT + low[name].astype(np.int64)).ravel()] = (
            values.ravel()
        )
    return model
