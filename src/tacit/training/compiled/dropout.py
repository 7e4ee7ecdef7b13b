"""Dropout masks for hidden layers, drawn from a client's own seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.training.compiled.first_layer import Array, compiled


@compiled
def draw_kept(kept: Array, dropout: float, seed: Any) -> None:
    """Fill `kept` with 0 with probability `dropout`, else with 1 / (1 - dropout), so that expected
    sums do not change.

    Uses SplitMix64 seeded with `seed`: fast; no privacy depends on it.
    """
    scale, bound = np.float32(1 / (1 - dropout)), np.uint64(dropout * 2.0**32)
    state = np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
    for i in range(kept.size):
        state += np.uint64(0x9E3779B97F4A7C15)
        word = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        kept[i] = np.float32(0) if (word >> np.uint64(32)) < bound else scale
