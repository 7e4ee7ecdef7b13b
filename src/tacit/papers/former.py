"""Figures that stand on a former page, seed by seed: runs whose figures are there need not be carried out again anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.papers.estimate import Estimate
from tacit.papers.figure import estimated
from tacit.papers.published import Cell, Outcome, Paper, Trial, Values

_EXACT = "exact"
"""Stands for the seed of what no draw changes."""


@dataclass(frozen=True)
class Former:
    """A cell's figure on a former page; its seeds, unless the page is older than they are stored."""

    estimate: Estimate | None
    values: Values = field(default_factory=dict)

    def covers(self, seed: int | None, trial: Trial) -> bool:
        """Return whether the run of a trial with this seed has nothing to add."""
        if self.values or self.estimate is None:
            return seed in self.values
        return self.estimate.comparable and self.estimate.seeds >= len(trial.seeds)


def read(paper: Paper, docs: Path) -> dict[str, Former]:
    """Return the figures of a paper's former page by the key of their cell; none if there is no page."""
    try:
        stored = json.loads(path_of(paper, docs).read_text())
    except (OSError, ValueError):
        return {}
    shown = dict[str, Former]()
    for cell in (one for one in stored["cells"] if one["ours"] is not None):
        shown[cell["key"]] = _fuller(Former(_estimate(cell)), shown.get(cell["key"]))  # tables may share a cell, not its seeds
    by_seed = {key: _from_json(values) for key, values in stored.get("seeds", {}).items()}
    return shown | {key: _fuller(Former(estimated(one), one), shown.get(key)) for key, one in by_seed.items()}


def path_of(paper: Paper, docs: Path) -> Path:
    """Return the file of a paper's figures."""
    return docs / "results" / f"{paper.name}.json"


def as_json(outcomes: Iterable[Outcome]) -> dict[str, dict[str, float]]:
    """Return the figures of cells by their key, seed by seed."""
    found = {one.cell.key: one.values for one in outcomes if one.values}
    return {key: {_EXACT if seed is None else str(seed): value for seed, value in values.items()} for key, values in found.items()}


def outcome(table: str, cell: Cell, values: Values, former: Mapping[str, Former]) -> Outcome:
    """Return a cell with the seeds there are, those of a former page among them; that page's figure if it says more."""
    before = former.get(cell.key, Former(None))
    joined = {**before.values, **values}
    ours = estimated(joined)
    if before.estimate is not None and (ours is None or _says_more(before.estimate, ours)):
        return Outcome(table=table, cell=cell, ours=before.estimate)
    return Outcome(table=table, cell=cell, ours=ours, values=joined)


def _fuller(mine: Former, other: Former | None) -> Former:
    """Return which of two figures says more; the first of equals, which is the one with seeds if one has them."""
    if mine.estimate is None or other is None or other.estimate is None:
        return other if mine.estimate is None and other is not None else mine
    return other if _says_more(other.estimate, mine.estimate) else mine


def _says_more(one: Estimate, other: Estimate) -> bool:
    """Return whether one of two figures can be compared and the other cannot, or else has more seeds."""
    return (one.comparable, one.seeds) > (other.comparable, other.seeds)


def _estimate(cell: dict[str, Any]) -> Estimate:
    return Estimate(cell["ours"], cell["deviation"], cell["seeds"])


def _from_json(values: dict[str, float]) -> Values:
    return {None if seed == _EXACT else int(seed): value for seed, value in values.items()}
