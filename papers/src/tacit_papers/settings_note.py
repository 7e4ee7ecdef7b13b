"""The settings that ran, as a note below a table: scale, seeds, epochs and rounds, read from the runs
behind its cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tacit.reproduction import SCALES
from tacit_papers.published import CellOutcome, PaperCell, PaperTrial

_KEYS = ("clients", "limit", "rounds", "epochs", "batches", "batch", "steps", "texts")
"""Settings that the note states; the last part of a setting's path is its name."""

_LEFT_OUT = ("corrupt", "public", "filter")
"""Tables of a plan whose keys have the same names and another meaning: a share of corrupted clients,
epochs on public rows.
"""
_WORDS = {"limit": "row limit", "batch": "batch size"}
_MOST_VALUES = 4


def describe_settings(outcomes: Sequence[CellOutcome]) -> str:
    """State the scale, the number of seeds and the settings of the cells that were run, scale by
    scale, and how many were not run.
    """
    ran = [one for one in outcomes if one.ours is not None]
    by_scale = {scale: [one for one in ran if one.scale == scale] for scale in reversed(SCALES)}
    sentences = [_describe(scale, some) for scale, some in by_scale.items() if some]
    if len(ran) < len(outcomes):
        sentences.append(f"{len(outcomes) - len(ran)} of {len(outcomes)} cells were not run.")
    return " ".join(sentences)


def _describe(scale: str, outcomes: Sequence[CellOutcome]) -> str:
    found: dict[str, set[float]] = {}
    for one in outcomes:
        for trial in _list_trials(one.cell):
            for name, value in _list_numbers(trial.settings):
                if name in _KEYS:
                    found.setdefault(name, set()).add(value)
    parts = [_describe_seeds(outcomes)]
    parts += [f"{_WORDS.get(name, name)} {_list(found[name])}" for name in _KEYS if name in found]
    return f"Ran at {scale} scale: {'; '.join(parts)}."


def _describe_seeds(outcomes: Sequence[CellOutcome]) -> str:
    counts = {one.ours.seeds for one in outcomes if one.ours is not None}
    if counts == {0}:
        return "no randomness"
    drawn = sorted(counts - {0})
    few = f"{drawn[0]}" if len(drawn) == 1 else f"{drawn[0]} to {drawn[-1]}"
    return f"{few} seed{'' if drawn == [1] else 's'}"


def _list_trials(cell: PaperCell) -> Iterator[PaperTrial]:
    for one in cell.parts or (cell,):
        yield from (trial for trial in (one.trial, one.minus, one.of) if trial is not None)


def _list_numbers(settings: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and name not in _LEFT_OUT:
            yield from _list_numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value


def _list(values: Iterable[float]) -> str:
    ordered = sorted(values)
    if len(ordered) > _MOST_VALUES:
        return f"{ordered[0]:,} to {ordered[-1]:,}"
    return " or ".join(f"{one:,}" for one in ordered)
