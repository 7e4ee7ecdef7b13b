"""All queries of a plan as one vector: the blocks, their weights, and the answers in its sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit.plan import Statistics
from tacit.plan.tables.statistics.query import Query
from tacit.statistics.answer import Noise, NoisyAnswer
from tacit.statistics.block import Entries, QueryBlock, join_entries
from tacit.statistics.cells import Batch
from tacit.statistics.coarse import BoughtRangeBlock
from tacit.statistics.counts import CategoriesBlock, HistogramBlock
from tacit.statistics.frequent import FrequentBlock
from tacit.statistics.moments import CorrelationBlock, CountBlock, MeanBlock, SumBlock
from tacit.statistics.quantiles import QuantilesBlock


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A query's block at its first coordinate, with its part of a contribution's norm."""

    name: str
    query: Query
    block: QueryBlock
    first: int
    weight: float

    @property
    def span(self) -> slice:
        """The coordinates of the block."""
        return slice(self.first, self.first + self.block.size)


@dataclass(frozen=True, kw_only=True)
class QueryLayout:
    """The blocks of a plan's queries. The squares of their weights add up to 1."""

    settings: Statistics
    blocks: tuple[Placed, ...]

    @property
    def size(self) -> int:
        """Coordinates of the vector."""
        return sum(one.block.size for one in self.blocks)

    def contribute(
        self, batch: Batch, before: NDArray[np.float64] | None, stddev: float
    ) -> Entries:
        """What some people contribute; `before` are the sums of the first round, `stddev` the
        standard deviation of the noise on each coordinate of a sum.
        """
        parts = []
        for one in self.blocks:
            seen = (
                None if before is None or one.query.rounds == 1 else before[one.span] / one.weight
            )
            found = one.block.contribute(batch, seen, self._get_noise(one, stddev))
            parts.append(Entries(found.owner, found.place + one.first, found.value * one.weight))
        return join_entries(parts)

    def answer(self, sums: Sequence[NDArray[np.float64]], stddev: float) -> tuple[NoisyAnswer, ...]:
        """The answer to each query, from the sums of each round."""
        return tuple(self._answer(one, sums, stddev) for one in self.blocks)

    def _answer(
        self, one: Placed, sums: Sequence[NDArray[np.float64]], stddev: float
    ) -> NoisyAnswer:
        noise = self._get_noise(one, stddev)
        found = one.block.answer([total[one.span] / one.weight for total in sums], noise)
        return NoisyAnswer(
            name=one.name,
            query=self.settings.queries[one.name],
            kind=one.query.kind,
            figures=found.figures,
            noise=noise.stddev * found.scale,
            confidence=self.settings.confidence,
            note=found.note,
        )

    def _get_noise(self, one: Placed, stddev: float) -> Noise:
        return Noise(stddev=stddev / one.weight, confidence=self.settings.confidence)


def build_layout(settings: Statistics) -> QueryLayout:
    """Lay out the queries of a plan, in its order."""
    queries, first, blocks = settings.parse(), 0, list[Placed]()
    weights = {name: settings.weights.get(name, 1.0) for name in queries}
    norm = math.sqrt(sum(weight**2 for weight in weights.values()))
    for name, query in queries.items():
        block = build_block(query, settings)
        blocks.append(
            Placed(name=name, query=query, block=block, first=first, weight=weights[name] / norm)
        )
        first += block.size
    return QueryLayout(settings=settings, blocks=tuple(blocks))


def build_block(query: Query, settings: Statistics) -> QueryBlock:
    """Build the block of a query."""
    rows, words = settings.rows_per_person, settings.words_per_person
    if query.buys_range:
        return BoughtRangeBlock(
            query.columns,
            query.ranges,
            lambda ranges: build_block(replace(query, ranges=ranges), settings),
            rows,
        )
    column = query.columns[0] if query.columns else ""
    ends = [one for one in query.ranges if one is not None]
    match query.kind:
        case "count":
            return CountBlock(rows, query.people)
        case "missing":
            return CountBlock(rows, column=column)
        case "categories":
            return CategoriesBlock(column, query.values, rows)
        case "histogram":
            return HistogramBlock(column, ends[0], query.bins, rows)
        case "sum":
            return SumBlock(column, ends[0], rows)
        case "mean":
            return MeanBlock(column, ends[0], rows)
        case "quantiles":
            return QuantilesBlock(column, ends[0], query.points, rows)
        case "frequent" | "distinct":
            return FrequentBlock(column, query.source, query.most, rows, words, query.above)
        case "correlation":
            first, second = query.columns
            return CorrelationBlock((first, second), (ends[0], ends[1]), rows)
        case _:
            assert_never(query.kind)
