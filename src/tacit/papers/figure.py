"""A cell's figure from the runs of its trial: a mean over seeds, or an end of its confidence interval."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from tacit.interval import interval
from tacit.papers.published import Cell, Figures, Trial


def figure(cell: Cell, kept: Mapping[str, Figures]) -> float | None:
    """Return the cell's figure; None if one of its runs is not kept (they are kept by key) or does not have it."""
    if cell.parts:
        parts = [figure(part, kept) for part in cell.parts]
        return None if None in parts else fmean(part for part in parts if part is not None)
    if cell.of is not None:
        return _share(cell, kept)
    values = _values(cell, cell.trial, kept)
    if values is not None and cell.minus is not None:
        others = _values(cell, cell.minus, kept)
        values = None if others is None else [_less(mine, other, cell) for mine, other in zip(values, others, strict=True)]
    if values is None:
        return None
    if cell.statistic == "mean":
        return fmean(values)
    ends = interval(values)
    return None if ends is None else ends[("low", "high").index(cell.statistic)]


def _share(cell: Cell, kept: Mapping[str, Figures]) -> float | None:
    """Return which part of the way from `minus` to `of` the trial has come, by their means; None if there is no way."""
    means = [
        None if values is None else fmean(values)
        for values in (_values(cell, trial, kept) for trial in (cell.trial, cell.minus, cell.of) if trial is not None)
    ]
    if None in means or len(means) < 3:
        return None
    mine, least, most = (mean for mean in means if mean is not None)
    return None if most == least else (mine - least) / (most - least)


def _less(mine: float, other: float, cell: Cell) -> float:
    return (mine - other) / other if cell.relative else mine - other


def _values(cell: Cell, trial: Trial, kept: Mapping[str, Figures]) -> list[float] | None:
    name = "last" if cell.round_no is None else str(cell.round_no)
    found = [kept.get(run.key, {}).get(name, {}).get(cell.metric) for run in trial.runs]
    values = [value for value in found if value is not None]
    return values if len(values) == len(found) else None
