"""A cell's value from the runs of its trial, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean

from tacit_papers.estimate import Estimate
from tacit_papers.published import Figures, PaperCell, PaperTrial, Values

_Combine = Callable[[list[float]], float]


def estimate_cell(cell: PaperCell, kept: Mapping[str, Figures]) -> Estimate | None:
    """Estimate a cell from the cached runs (by key) that have its metric; None if there are none."""
    return estimate_values(compute_values(cell, kept))


def estimate_values(values: Values) -> Estimate | None:
    """Estimate from values by seed; None if there are none."""
    if not values:
        return None
    if None in values:
        return Estimate.of(list(values.values()), drawn=False)
    return Estimate.of_seeds({seed: value for seed, value in values.items() if seed is not None})


def compute_values(cell: PaperCell, kept: Mapping[str, Figures]) -> Values:
    """The cell's value for each seed whose runs are cached and have its metric."""
    if cell.parts:
        return _combine_values(fmean, *(compute_values(part, kept) for part in cell.parts))
    mine = _read_trial(cell, cell.trial, kept)
    if cell.minus is None:
        return mine
    less = replace(
        cell, metric=cell.minus_metric or cell.metric, round_no=cell.minus_round_no or cell.round_no
    )
    other = _read_trial(less, cell.minus, kept)
    if cell.of is not None:
        most = _read_trial(cell, cell.of, kept)
        apart = {seed for seed in most if most[seed] != other.get(seed)}
        return _combine_values(
            lambda all_: (all_[0] - all_[1]) / (all_[2] - all_[1]),
            *(_restrict(one, apart) for one in (mine, other, most)),
        )
    if cell.relative:
        return _combine_values(lambda both: (both[0] - both[1]) / both[1], mine, other)
    return _combine_values(lambda both: both[0] - both[1], mine, other)


def _restrict(values: Values, seeds: set[int | None]) -> Values:
    return {seed: value for seed, value in values.items() if seed in seeds}


def _combine_values(combine: _Combine, *parts: Values) -> Values:
    """Combine values seed by seed, for the seeds that all parts have."""
    common = [seed for seed in parts[0] if all(seed in part for part in parts)]
    return {seed: combine([part[seed] for part in parts]) for seed in common}


def _read_trial(cell: PaperCell, trial: PaperTrial, kept: Mapping[str, Figures]) -> Values:
    name = "last" if cell.round_no is None else str(cell.round_no)
    seeds: tuple[int | None, ...] = trial.seeds or (None,)
    found = {
        seed: kept.get(run.key, {}).get(name, {}).get(cell.metric)
        for seed, run in zip(seeds, trial.runs, strict=True)
    }
    return {seed: value for seed, value in found.items() if value is not None}
