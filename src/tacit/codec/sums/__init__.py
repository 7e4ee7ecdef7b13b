"""What messages add up to: sums that can be merged; all but the tally of tokens in memory that does not grow with the cohort."""

from tacit.codec.sums.bits import BitSum
from tacit.codec.sums.floats import ClippedFloatSum, FloatSum
from tacit.codec.sums.levels import LevelSum
from tacit.codec.sums.modular import ModularSum
from tacit.codec.sums.placed import PlacedSum
from tacit.codec.sums.tokens import TokenTally
from tacit.codec.sums.wholes import WholeSum

__all__ = ["BitSum", "ClippedFloatSum", "FloatSum", "LevelSum", "ModularSum", "PlacedSum", "TokenTally", "WholeSum"]
