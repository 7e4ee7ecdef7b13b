"""Many single updates become one mean update: by rules that a few bad clients cannot lead where they want."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.rows import Vector
from tacit.server.robust.clean import Clean, fltrust, zeno
from tacit.server.robust.clipping import centred_clipping, norm_bound
from tacit.server.robust.coordinates import median, trimmed_mean
from tacit.server.robust.foolsgold import foolsgold
from tacit.server.robust.geometric import geometric_median
from tacit.server.robust.matrix import Floats, Matrix, bad_among, mean
from tacit.server.robust.neighbours import mixed, multi_krum

Memory = dict[str, NDArray[Any]]
"""What a rule remembers between rounds, by name; empty for most."""

_CENTRE, _NAMES, _HISTORY = "rule.centre", "rule.names", "rule.history"
MEMORY = (_CENTRE, _NAMES, _HISTORY)
"""Everything that any rule remembers."""


@dataclass(frozen=True, kw_only=True)
class Updates:
    """The updates of a round one by one: who sent them, in ascending order, one row each, and how much each counts."""

    names: NDArray[np.int64]
    rows: Matrix
    weights: NDArray[np.int64]


def combine(settings: plan.Server, given: Updates, memory: Memory, clean: Clean | None = None) -> tuple[Vector, Memory]:
    """Return the mean update of at least one client by the plan's rule, and what the rule remembers from now on.

    `clean` is there where the rule needs a server with rows of its own.
    """
    bad = bad_among(len(given.rows), settings.assumed_bad or 0.0)
    rows = mixed(given.rows, bad) if settings.mix else given.rows
    weights: Floats = given.weights.astype(np.float64)
    if settings.rule == "centred_clipping":
        centre = centred_clipping(rows, memory.get(_CENTRE, np.zeros(rows.shape[1], np.float32)), settings.bound)
        return centre, {_CENTRE: centre}
    if settings.rule == "foolsgold":
        memory = remembered(given, memory)
        return foolsgold(rows, memory[_HISTORY][np.searchsorted(memory[_NAMES], given.names)]), memory
    if settings.rule == "fltrust":
        assert clean is not None
        return fltrust(rows, clean.update()), {}
    if settings.rule == "zeno":
        assert clean is not None
        return zeno(rows, clean.gains, bad_among(len(rows), settings.assumed_bad or 0.0, most=1.0)), {}
    if settings.rule == "norm_bound":
        return norm_bound(rows, weights, settings.bound), {}
    if settings.rule == "geometric_median":
        return geometric_median(rows, weights), {}
    if settings.rule == "trimmed_mean":
        return trimmed_mean(rows, bad), {}
    if settings.rule == "multi_krum":
        return multi_krum(rows, bad), {}
    return (median(rows) if settings.rule == "median" else mean(rows, weights)), {}


def remembered(given: Updates, memory: Memory) -> Memory:
    """Return the sum of each client's updates with this round's, for all clients who ever sent one, in order of their names."""
    before = memory.get(_NAMES, np.empty(0, np.int64))
    names = np.union1d(before, given.names)
    history = np.zeros((len(names), given.rows.shape[1]), np.float32)
    if len(before):
        history[np.searchsorted(names, before)] = memory[_HISTORY]
    history[np.searchsorted(names, given.names)] += given.rows
    return {_NAMES: names, _HISTORY: history}


__all__ = ["MEMORY", "Clean", "Memory", "Updates", "combine"]
