"""Results on a former page: runs whose results are there need not be carried out again on any
machine.

A page has a cell's values seed by seed, or only its mean and standard deviation over the first seeds
of its trial. New seeds join either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit_papers.estimate import Estimate
from tacit_papers.figure import estimate_values
from tacit_papers.published import CellOutcome, PaperCell, PaperTrial, Values

if TYPE_CHECKING:
    from tacit_papers.paper import Paper

_EXACT = "exact"
"""Placeholder seed of results without randomness."""


@dataclass(frozen=True)
class Former:
    """A cell's estimate on a former page, and the values of those of its seeds that are known."""

    estimate: Estimate | None
    values: Values = field(default_factory=dict)

    def covers(self, seed: int | None, trial: PaperTrial) -> bool:
        """Whether the run of a trial with this seed would add nothing."""
        return seed in self.values or seed in self.list_summarised(trial)

    def list_summarised(self, trial: PaperTrial) -> tuple[int | None, ...]:
        """The seeds of the estimate whose values are unknown: the first ones of the trial. None
        without a standard deviation, because nothing can join such an estimate.
        """
        if self.estimate is None or not self.estimate.is_comparable:
            return ()
        unknown = self.estimate.seeds - len(self.values)
        every: tuple[int | None, ...] = trial.seeds or (None,)
        if not self.estimate.seeds:
            return () if self.values else every
        return tuple(seed for seed in every if seed not in self.values)[: max(0, unknown)]


def read(paper: Paper, docs: Path) -> dict[str, Former]:
    """Read the results of a paper's former page by the key of their cell; empty if there is no
    page.
    """
    try:
        stored = json.loads(results_path(paper, docs).read_text())
    except (OSError, ValueError):
        return {}
    shown = dict[str, Estimate]()
    for cell in (one for one in stored["cells"] if one["ours"] is not None):
        mine, other = _estimate(cell), shown.get(cell["key"])
        if other is None or _says_more(mine, other):  # tables may share a cell, not its seeds
            shown[cell["key"]] = mine
    by_seed = {key: _from_json(values) for key, values in stored.get("seeds", {}).items()}
    return {
        key: Former(_fuller(estimate_values(values), shown.get(key)), values)
        for key, values in ((key, by_seed.get(key, {})) for key in {**shown, **by_seed})
    }


def results_path(paper: Paper, docs: Path) -> Path:
    """The file of a paper's results."""
    return docs / "results" / f"{paper.name}.json"


def as_json(outcomes: Iterable[CellOutcome]) -> dict[str, dict[str, float]]:
    """Values of cells by key, seed by seed; scales may share a cell, not its seeds."""
    found = dict[str, Values]()
    for one in outcomes:
        if one.values:
            found[one.cell.key] = {**found.get(one.cell.key, {}), **one.values}
    return {
        key: {_EXACT if seed is None else str(seed): value for seed, value in values.items()}
        for key, values in found.items()
    }


def merge_outcome(
    table: str, cell: PaperCell, values: Values, former: Mapping[str, Former]
) -> CellOutcome:
    """Join a cell's values with those of a former page, or with its estimate if that has more seeds
    than values are known.
    """
    before = former.get(cell.key, Former(None))
    joined = {**before.values, **values}
    ours = estimate_values(joined)
    if before.estimate is not None:
        summarised = before.list_summarised(cell.trial)
        fresh = {
            seed: value
            for seed, value in values.items()
            if summarised and seed not in {*before.values, *summarised}
        }
        fuller = before.estimate.join(fresh)
        if ours is None or _says_more(fuller, ours):
            known = {**before.values, **fresh}
            return CellOutcome(table=table, cell=cell, ours=fuller, values=known)
    return CellOutcome(table=table, cell=cell, ours=ours, values=joined)


def _fuller(mine: Estimate | None, other: Estimate | None) -> Estimate | None:
    """The more informative of two estimates; if they are equally informative, the first."""
    if mine is None or other is None:
        return other if mine is None else mine
    return other if _says_more(other, mine) else mine


def _says_more(one: Estimate, other: Estimate) -> bool:
    """Whether only the first of two estimates is comparable, or it has more seeds."""
    return (one.is_comparable, one.seeds) > (other.is_comparable, other.seeds)


def _estimate(cell: dict[str, Any]) -> Estimate:
    return Estimate(cell["ours"], cell["deviation"], cell["seeds"])


def _from_json(values: dict[str, float]) -> Values:
    return {None if seed == _EXACT else int(seed): value for seed, value in values.items()}
