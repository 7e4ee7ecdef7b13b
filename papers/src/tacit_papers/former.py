"""Results on a former page, seed by seed: runs whose results are there need not be carried out
again on any machine.
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
    """A cell's estimate on a former page, with its seeds unless the page is older than the storage
    of seeds.
    """

    estimate: Estimate | None
    values: Values = field(default_factory=dict)

    def covers(self, seed: int | None, trial: PaperTrial) -> bool:
        """Whether the run of a trial with this seed would add nothing."""
        if self.values or self.estimate is None:
            return seed in self.values
        return self.estimate.is_comparable and self.estimate.seeds >= len(trial.seeds)


def read(paper: Paper, docs: Path) -> dict[str, Former]:
    """Read the results of a paper's former page by the key of their cell; empty if there is no
    page.
    """
    try:
        stored = json.loads(results_path(paper, docs).read_text())
    except (OSError, ValueError):
        return {}
    shown = dict[str, Former]()
    for cell in (one for one in stored["cells"] if one["ours"] is not None):
        shown[cell["key"]] = _fuller(
            Former(_estimate(cell)), shown.get(cell["key"])
        )  # tables may share a cell, not its seeds
    by_seed = {key: _from_json(values) for key, values in stored.get("seeds", {}).items()}
    return shown | {
        key: _fuller(Former(estimate_values(one), one), shown.get(key))
        for key, one in by_seed.items()
    }


def results_path(paper: Paper, docs: Path) -> Path:
    """The file of a paper's results."""
    return docs / "results" / f"{paper.name}.json"


def as_json(outcomes: Iterable[CellOutcome]) -> dict[str, dict[str, float]]:
    """Values of cells by key, seed by seed."""
    found = {one.cell.key: one.values for one in outcomes if one.values}
    return {
        key: {_EXACT if seed is None else str(seed): value for seed, value in values.items()}
        for key, values in found.items()
    }


def merge_outcome(
    table: str, cell: PaperCell, values: Values, former: Mapping[str, Former]
) -> CellOutcome:
    """Join a cell's values with those of a former page; if the page has more seeds but not their
    values, use its estimate.
    """
    before = former.get(cell.key, Former(None))
    joined = {**before.values, **values}
    ours = estimate_values(joined)
    if before.estimate is not None and (ours is None or _says_more(before.estimate, ours)):
        return CellOutcome(table=table, cell=cell, ours=before.estimate)
    return CellOutcome(table=table, cell=cell, ours=ours, values=joined)


def _fuller(mine: Former, other: Former | None) -> Former:
    """The more informative of two results; if they are equally informative, the one with values by
    seed.
    """
    if mine.estimate is None or other is None or other.estimate is None:
        return other if mine.estimate is None and other is not None else mine
    return other if _says_more(other.estimate, mine.estimate) else mine


def _says_more(one: Estimate, other: Estimate) -> bool:
    """Whether only the first of two estimates is comparable, or it has more seeds."""
    return (one.is_comparable, one.seeds) > (other.is_comparable, other.seeds)


def _estimate(cell: dict[str, Any]) -> Estimate:
    return Estimate(cell["ours"], cell["deviation"], cell["seeds"])


def _from_json(values: dict[str, float]) -> Values:
    return {None if seed == _EXACT else int(seed): value for seed, value in values.items()}
