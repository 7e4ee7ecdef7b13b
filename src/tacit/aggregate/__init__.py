"""Many messages become one: streaming sums that can be merged, in memory that does not grow with the cohort."""

from __future__ import annotations

from typing import Literal

from tacit.aggregate.bits import BitSum
from tacit.aggregate.floats import FloatSum
from tacit.aggregate.signs import SignSum

__all__ = ["BitSum", "FloatSum", "SignSum", "Sum", "empty"]

Sum = BitSum | FloatSum | SignSum

_KINDS: dict[str, type[Sum]] = {"bits": BitSum, "floats": FloatSum, "signs": SignSum}


def empty(adds_as: Literal["floats", "bits", "signs"], dim: int) -> Sum:
    """Return the sum of no messages."""
    return _KINDS[adds_as](dim)
