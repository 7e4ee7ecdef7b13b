"""A table of ours: what a tenfold larger or smaller clip q losses on IMDB and on MovieLens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tacit.reproduction import Scale
from tacit_papers.published import PaperCell, PaperTable, PaperTrial
from tacit_papers.rr_ldp.settings import IMDB, MOVIELENS, FederatedSettings, RoundCounts, rr

_SETS: Mapping[str, FederatedSettings] = {"IMDB": IMDB, "MovieLens": MOVIELENS}
_CLIENTS = (10, 100)
_ROUNDS = RoundCounts(full=25, quick=25)
_FACTORS = {"q = a tenth of the rate": 0.1, "q = local rate": 1.0, "q = ten times the rate": 10.0}
_AT_RATE = "q = local rate"
_EPSILON = 10.0
LOSS = "mean loss by a tenfold change"
_SEEDS: dict[Scale, tuple[int, ...]] = {"smoke": (1,), "quick": (1,), "full": (1, 2, 3, 4, 5)}


def sensitivity(scale: Scale) -> PaperTable:
    """AUC at the local learning rate as clip, at ten times and at a tenth of it, by data set and
    number of clients; and the mean AUC lost by the changes.
    """
    cells = list[PaperCell]()
    for name, setting in _SETS.items():
        losses = list[PaperCell]()
        for clients in _CLIENTS:
            row = f"{name}, N={clients}"
            trials = {
                column: _build_trial(scale, setting, clients, factor)
                for column, factor in _FACTORS.items()
            }
            cells += [_show(row, column, trial) for column, trial in trials.items()]
            best = trials.pop(_AT_RATE)
            losses += [
                replace(_show(row, column, best), minus=trial) for column, trial in trials.items()
            ]
        cells.append(replace(losses[0], row=name, column=LOSS, minus=None, parts=tuple(losses)))
    note = (
        "Not in the paper. Epsilon 10 per bit, server learning rate 1; MovieLens with 100,000"
        " ratings for training at every scale. The last rows are means over both numbers of"
        " clients and both changes of q, seed by seed."
    )
    return PaperTable(
        name="q",
        title="AUC lost by a tenfold change of the clip q",
        cells=tuple(cells),
        note=note,
        small=True,
    )


def _show(row: str, column: str, trial: PaperTrial) -> PaperCell:
    return PaperCell(row=row, column=column, paper=None, trial=trial, metric="auc")


def _build_trial(
    scale: Scale, setting: FederatedSettings, clients: int, factor: float
) -> PaperTrial:
    rounds = _ROUNDS.at(scale)
    server: dict[str, Any] = {"rounds": rounds, "evaluate_every": rounds}
    size: Scale = "quick" if scale == "full" else scale
    codec = rr(_EPSILON, setting.local["lr"] * factor)
    return replace(setting.trial(size, clients, codec, server), seeds=_SEEDS[scale])
