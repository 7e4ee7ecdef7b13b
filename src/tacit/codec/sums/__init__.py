"""What messages add up to: streaming sums that can be merged, in memory that does not grow with the cohort."""

from tacit.codec.sums.bits import BitSum
from tacit.codec.sums.floats import FloatSum
from tacit.codec.sums.levels import LevelSum
from tacit.codec.sums.signs import SignSum

__all__ = ["BitSum", "FloatSum", "LevelSum", "SignSum"]
