"""Many messages become one: streaming sums that can be merged, in memory that does not grow with the cohort."""

from __future__ import annotations

from typing import Literal

from tacit.aggregate.bits import BitSum
from tacit.aggregate.floats import FloatSum

__all__ = ["BitSum", "FloatSum", "Sum", "empty"]

Sum = BitSum | FloatSum


def empty(adds_as: Literal["floats", "bits"], dim: int) -> Sum:
    """Return the sum of no messages."""
    return BitSum(dim) if adds_as == "bits" else FloatSum(dim)
