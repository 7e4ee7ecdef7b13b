"""Quantiles of a column: counts in the nodes of a tree over a range.

Each of 16 nodes has 16 leaves, and a row counts in its node and in its leaf. Both counts of a node
are combined by least squares, so that the number of rows below any edge has little noise.

Source: Hay et al. 2010, *Boosting the Accuracy of Differentially Private Histograms Through
Consistency*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.plan.tables.statistics.query import Range
from tacit.statistics.answer import Noise, NoisyFigure
from tacit.statistics.block import (
    Entries,
    QueryBlock,
    Result,
    Sums,
    average,
    build_entries,
    join_entries,
)
from tacit.statistics.cells import Batch
from tacit.statistics.counts import find_bins
from tacit.statistics.moments import describe_range

_FAN = 16
LEAVES = _FAN * _FAN


@dataclass(frozen=True)
class QuantilesBlock(QueryBlock):
    """Quantiles of the numbers of a column, clamped to a range."""

    column: str
    range: Range
    points: tuple[float, ...]
    rows_each: int
    size: int = _FAN + LEAVES

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """One at the node and one at the leaf of each number; the norm of both is √2."""
        values = batch.numbers(self.column)
        known = ~np.isnan(values)
        leaves = find_bins(values[known], self.range, LEAVES)
        part, owner = 1 / (math.sqrt(2) * self.rows_each), batch.owner[known]
        return join_entries(
            [
                build_entries(owner, leaves // _FAN, part),
                build_entries(owner, _FAN + leaves, part),
            ]
        )

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """Each quantile with the range of edges that the noise allows."""
        total, here = average(sums), noise.over(len(sums))
        scale = math.sqrt(2) * self.rows_each
        below = count_below(total)
        edges = np.linspace(self.range.low, self.range.high, LEAVES + 1)
        figures = tuple(_find_quantile(point, below, edges, here) for point in self.points)
        rows = here.build_figure("rows", float(below[-1]) * scale, 4 * scale)
        width = (self.range.high - self.range.low) / LEAVES
        note = f"{describe_range(self.range)}; precise to {width:g}"
        return Result((*figures, rows), scale / math.sqrt(len(sums)), note)


def count_below(total: Sums) -> Sums:
    """Least-squares estimates of the contributions below each edge, of the first edge to the last."""
    nodes, leaves = total[:_FAN], total[_FAN:].reshape(_FAN, _FAN)
    whole = leaves.sum(axis=1)
    better = (_FAN * nodes + whole) / (_FAN + 1)
    fitted = leaves + ((better - whole) / _FAN)[:, None]
    return np.concatenate([[0.0], np.cumsum(fitted.ravel())])


def compute_deviations(point: float) -> NDArray[np.float64]:
    """Standard deviation at each edge of (rows below) - point · (all rows), for noise of standard
    deviation 1 on each coordinate.
    """
    node, part = np.divmod(np.arange(LEAVES + 1), _FAN)
    each = _FAN / (_FAN + 1)  # variance of a node's estimate

    def within(leaves: NDArray[np.int64]) -> NDArray[np.float64]:
        return leaves - leaves**2 / (_FAN + 1)  # variance of some leaves of one node

    rest = np.where(part > 0, _FAN - part, 0)
    after = _FAN - node - (part > 0)
    covariance = np.where(part > 0, (each - within(part) - within(rest)) / 2, 0.0)
    variance = (
        (1 - point) ** 2 * (node * each + within(part))
        + point**2 * (after * each + within(rest))
        - 2 * point * (1 - point) * covariance
    )
    return np.sqrt(np.maximum(variance, 0))


def _find_quantile(
    point: float, below: Sums, edges: NDArray[np.float64], noise: Noise
) -> NoisyFigure:
    label = "median" if point == 0.5 else f"quantile {point:g}"
    half = noise.deviations * noise.stddev * compute_deviations(point)
    ahead = below - point * below[-1]
    if below[-1] <= noise.deviations * noise.stddev * math.sqrt(_FAN):
        return NoisyFigure(label=label, value=None, low=float(edges[0]), high=float(edges[-1]))
    inside = slice(1, LEAVES)
    first = 1 + int(np.argmax(np.append(ahead[inside] >= -half[inside], True)))
    last = LEAVES - 1 - int(np.argmax(np.append((ahead[inside] <= half[inside])[::-1], True)))
    rising = np.maximum.accumulate(ahead)
    after = max(1, int(np.searchsorted(rising, 0.0)))
    after = min(after, LEAVES)
    step = rising[after] - rising[after - 1]
    share = -rising[after - 1] / step if step > 0 else 0.5
    value = edges[after - 1] + min(1.0, max(0.0, share)) * (edges[after] - edges[after - 1])
    low, high = float(edges[first - 1]), float(edges[last + 1])
    return NoisyFigure(label=label, value=float(min(max(value, low), high)), low=low, high=high)
