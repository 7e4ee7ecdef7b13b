"""The round workload's numbers and files, said once for every contender."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

CLIENTS = 100
ROWS_PER_CLIENT = 250
INPUTS = 5000
DENSITY = 0.025
BATCH = 25
LR = 1e-3
HIDDEN = (100, 50, 25)
WIDTHS = (INPUTS, *HIDDEN, 1)
PARAMETERS = sum(a * b + b for a, b in pairwise(WIDTHS))
VERIFIED_ROUNDS = 3
PASSES = 20
"""How often a kernel of a few milliseconds runs in one repeat."""

ROWS = Path(__file__).parent / "out" / "rows"
"""Each kind of rows has a folder with dense.npy, labels.npy, starts.npy, columns.npy (and the same
for test rows), initial.npy (the first model, layer after layer, weights input-major, then biases)
and orders.npy (rounds, clients, rows).
"""
