"""Sums of messages, which can be merged. All except the tally of tokens use memory that does not
grow with the cohort.
"""

from tacit.codecs.sums.bits import BitSum
from tacit.codecs.sums.floats import ClippedFloatSum, FloatSum
from tacit.codecs.sums.integers import IntegerSum
from tacit.codecs.sums.levels import LevelSum
from tacit.codecs.sums.modular import ModularSum
from tacit.codecs.sums.placed import PlacedSum
from tacit.codecs.sums.tokens import TokenTally

__all__ = [
    "BitSum",
    "ClippedFloatSum",
    "FloatSum",
    "IntegerSum",
    "LevelSum",
    "ModularSum",
    "PlacedSum",
    "TokenTally",
]
