"""A cell's figure from the runs of its trial, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean

from tacit.papers.estimate import Estimate
from tacit.papers.published import Cell, Figures, Trial, Values

_Combine = Callable[[list[float]], float]


def figure(cell: Cell, kept: Mapping[str, Figures]) -> Estimate | None:
    """Return the cell's figure from the seeds whose runs are kept (by key) and have it; None if there is none."""
    return estimated(values_of(cell, kept))


def estimated(values: Values) -> Estimate | None:
    """Return what seeds say together; None if there is none."""
    return Estimate.of(list(values.values()), drawn=None not in values) if values else None


def values_of(cell: Cell, kept: Mapping[str, Figures]) -> Values:
    """Return the cell's figure for each seed whose runs are kept and have it."""
    if cell.parts:
        return _joined(fmean, *(values_of(part, kept) for part in cell.parts))
    mine = _of_trial(cell, cell.trial, kept)
    if cell.minus is None:
        return mine
    less = replace(cell, metric=cell.minus_metric or cell.metric, round_no=cell.minus_round_no or cell.round_no)
    other = _of_trial(less, cell.minus, kept)
    if cell.of is not None:
        most = _of_trial(cell, cell.of, kept)
        apart = {seed for seed in most if most[seed] != other.get(seed)}
        return _joined(lambda all_: (all_[0] - all_[1]) / (all_[2] - all_[1]), *(_only(one, apart) for one in (mine, other, most)))
    if cell.relative:
        return _joined(lambda both: (both[0] - both[1]) / both[1], mine, other)
    return _joined(lambda both: both[0] - both[1], mine, other)


def _only(values: Values, seeds: set[int | None]) -> Values:
    return {seed: value for seed, value in values.items() if seed in seeds}


def _joined(combine: _Combine, *parts: Values) -> Values:
    """Return what the parts give together, for the seeds that all of them have."""
    common = [seed for seed in parts[0] if all(seed in part for part in parts)]
    return {seed: combine([part[seed] for part in parts]) for seed in common}


def _of_trial(cell: Cell, trial: Trial, kept: Mapping[str, Figures]) -> Values:
    name = "last" if cell.round_no is None else str(cell.round_no)
    seeds: tuple[int | None, ...] = trial.seeds or (None,)
    found = {seed: kept.get(run.key, {}).get(name, {}).get(cell.metric) for seed, run in zip(seeds, trial.runs, strict=True)}
    return {seed: value for seed, value in found.items() if value is not None}
