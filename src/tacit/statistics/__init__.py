"""Queries answered with noise: what a person contributes to each, and the answer in a noisy sum.

All queries of a plan share one vector. Each has a block of it, and a person's contribution to a block
has an L2 norm of at most the block's weight, so all contributions of a person together have an L2
norm of at most 1, however many rows the person has.
"""

from tacit.statistics.answer import NoisyAnswer, NoisyFigure
from tacit.statistics.cells import encode_cells
from tacit.statistics.layout import QueryLayout, build_layout

__all__ = ["NoisyAnswer", "NoisyFigure", "QueryLayout", "build_layout", "encode_cells"]
