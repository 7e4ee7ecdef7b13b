"""Table 7: an LSTM over word indices, trained in one place and by clients; other columns stand beside its last state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.papers.published import PLAN, Cell, Scale, Table, Trial
from tacit.papers.rr_ldp import printed
from tacit.papers.rr_ldp.settings import PLAIN, SEEDS, Rounds, limit, rr

_LENGTH: dict[Scale, int] = {"smoke": 10, "quick": 100, "full": 300}
_FEDERATED, _CENTRAL, _EVALUATE = Rounds(full=25, quick=25), Rounds(full=4, quick=4), Rounds(full=5, quick=5)


@dataclass(frozen=True, kw_only=True)
class _Texts:
    """A data set read word by word."""

    name: str
    source: str
    lr: float
    clip: float
    stop_words: bool
    central_batch: int
    quick_rows: int | None = None

    def federated(self, scale: Scale) -> dict[str, Any]:
        """Return the plan of the federated row."""
        clients = 3 if scale == "smoke" else 100
        return {
            "name": "trial",
            "data": {"source": self.source, "clients": clients, "partition": "iid", **limit(scale, self.quick_rows)},
            "features": {"text": "sequence", "buckets": 5000, "stop_words": self.stop_words, "length": _LENGTH[scale]},
            "model": {"name": "lstm", "embedding": 100, "hidden": [100, 50, 25]},
            "local": {"optimizer": "adam", "lr": self.lr, "epochs": 3, "batches": 5},
            "codec": rr(1.0, self.clip),
            "server": {"rounds": _FEDERATED.at(scale), "evaluate_every": _EVALUATE.at(scale)},
        }

    def central(self, scale: Scale) -> dict[str, Any]:
        """Return the plan of the row where all rows are in one place."""
        return {
            **self.federated(scale),
            "regime": "central",
            "local": {"optimizer": "adam", "lr": 1e-3, "batch": self.central_batch},
            "codec": PLAIN,
            "server": {"rounds": _CENTRAL.at(scale)},
        }


_SETS = (
    _Texts(name="IMDB", source="imdb", lr=1e-3, clip=1e-3, stop_words=False, central_batch=50),
    _Texts(
        name="MovieLens", source="movielens1m", lr=1e-2, clip=1e-2, stop_words=True, central_batch=500, quick_rows=25_000,
    ),
)  # fmt: skip


def recurrent(scale: Scale) -> Table:
    """Return table 7 at a scale."""
    cells = []
    for texts in _SETS:
        for kind, settings in (("central", texts.central(scale)), ("federated", texts.federated(scale))):
            trial = Trial(kind=PLAN, settings=settings, seeds=SEEDS)
            for metric, paper in zip(("auc", "accuracy"), printed.TABLE_7[texts.name, kind], strict=True):
                cells.append(Cell(row=f"{texts.name}, {kind}", column=metric, paper=paper, trial=trial, metric=metric))
    note = "N=100, 25 rounds, epsilon 1 per bit, q = .001 and .01. At quick scale: 100 words per row, 25,000 ratings."
    return Table(name="7", title="LSTM(50) as first layer", cells=tuple(cells), note=note)
