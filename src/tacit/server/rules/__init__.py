"""Robust aggregation: combine single updates into one mean update that a few malicious clients
cannot steer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.extensions import Reference
from tacit.rows import Vector
from tacit.server.rules.clean import TrustedReference, fltrust, zeno
from tacit.server.rules.clipping import centred_clipping, norm_bound
from tacit.server.rules.coordinates import median, trimmed_mean
from tacit.server.rules.foolsgold import foolsgold
from tacit.server.rules.geometric import geometric_median
from tacit.server.rules.matrix import Floats, Matrix, count_bad, mean
from tacit.server.rules.neighbours import mix_neighbours, multi_krum

Memory = dict[str, NDArray[Any]]
"""A rule's memory between rounds, by name; empty for most rules."""

MEMORY = "rule."
"""Prefix of the names of a rule's memory in the server's state."""
_CENTRE, _NAMES, _HISTORY = "rule.centre", "rule.names", "rule.history"


@dataclass(frozen=True, kw_only=True)
class Updates:
    """The updates of a round: senders in ascending order, one row each, and their weights."""

    names: NDArray[np.int64]
    rows: Matrix
    weights: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class RuleInput(Updates):
    """The input of an aggregation rule: updates, mixed if the plan says so, and the plan's
    settings.

    `sent` are the updates as received, `bad` is the number that may be malicious, by the plan's
    `share`.
    """

    sent: Matrix
    bad: int
    share: float
    bound: float | None
    clean: TrustedReference | None

    @property
    def counts(self) -> Floats:
        """The weight of each update."""
        return self.weights.astype(np.float64)


Combine = Callable[[RuleInput, Memory], tuple[Vector, Memory]]
"""A rule: takes a round's updates and its memory, returns the mean update and its new memory.
"""


def combine(
    settings: plan.Server, given: Updates, memory: Memory, clean: TrustedReference | None = None
) -> tuple[Vector, Memory]:
    """Aggregate the updates of at least one client by the plan's rule; also return the rule's new
    memory.

    `clean` is given if the rule requires a server with rows of its own.
    """
    rows, bad = given.rows, count_bad(len(given.rows), settings.assumed_bad or 0.0)
    seen = RuleInput(
        names=given.names,
        rows=mix_neighbours(rows, bad) if settings.mix else rows,
        weights=given.weights,
        sent=rows,
        bad=bad,
        share=settings.assumed_bad or 0.0,
        bound=settings.bound,
        clean=clean,
    )
    return get_rule(settings)(seen, memory)


def get_rule(settings: plan.Server) -> Combine:
    """Look up the function of a plan's rule. A rule without one fails here, when a run is built."""
    match settings.rule:
        case Reference():
            from tacit.server.rules.own import combine_by_own_rule

            return functools.partial(combine_by_own_rule, settings)
        case "mean":
            return lambda seen, memory: (mean(seen.rows, seen.counts), {})
        case "median":
            return lambda seen, memory: (median(seen.rows), {})
        case "trimmed_mean":
            return lambda seen, memory: (trimmed_mean(seen.rows, seen.bad), {})
        case "multi_krum":
            return lambda seen, memory: (multi_krum(seen.rows, seen.bad), {})
        case "geometric_median":
            return lambda seen, memory: (geometric_median(seen.rows, seen.counts), {})
        case "norm_bound":
            return lambda seen, memory: (norm_bound(seen.rows, seen.counts, seen.bound), {})
        case "centred_clipping":
            return _centred_clipping
        case "foolsgold":
            return _foolsgold
        case "fltrust":
            return _fltrust
        case "zeno":
            return _zeno
        case _:
            assert_never(settings.rule)


def _centred_clipping(seen: RuleInput, memory: Memory) -> tuple[Vector, Memory]:
    centre = centred_clipping(
        seen.rows, memory.get(_CENTRE, np.zeros(seen.rows.shape[1], np.float32)), seen.bound
    )
    return centre, {_CENTRE: centre}


def _foolsgold(seen: RuleInput, memory: Memory) -> tuple[Vector, Memory]:
    memory = update_history(Updates(names=seen.names, rows=seen.sent, weights=seen.weights), memory)
    return (
        foolsgold(seen.rows, memory[_HISTORY][np.searchsorted(memory[_NAMES], seen.names)]),
        memory,
    )


def _fltrust(seen: RuleInput, memory: Memory) -> tuple[Vector, Memory]:
    assert seen.clean is not None
    return fltrust(seen.rows, seen.clean.update()), {}


def _zeno(seen: RuleInput, memory: Memory) -> tuple[Vector, Memory]:
    assert seen.clean is not None
    return zeno(seen.rows, seen.clean.gains, count_bad(len(seen.rows), seen.share, most=1.0)), {}


def update_history(given: Updates, memory: Memory) -> Memory:
    """Add this round to the sum of each client's updates, for all clients that ever sent one, in
    order of their names.
    """
    before = memory.get(_NAMES, np.empty(0, np.int64))
    names = np.union1d(before, given.names)
    history = np.zeros((len(names), given.rows.shape[1]), np.float32)
    if len(before):
        history[np.searchsorted(names, before)] = memory[_HISTORY]
    history[np.searchsorted(names, given.names)] += given.rows
    return {_NAMES: names, _HISTORY: history}


__all__ = ["MEMORY", "Memory", "TrustedReference", "Updates", "combine", "get_rule"]
