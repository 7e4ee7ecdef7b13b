"""Table 7: an LSTM before the network, in two interpretations: one step over the whole row as in
the paper, and word by word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.reproduction import Scale
from tacit_papers.published import PLAN, PaperCell, PaperTable, PaperTrial
from tacit_papers.rr_ldp import printed
from tacit_papers.rr_ldp.settings import (
    IMDB_LSTM,
    LSTM_STEP,
    MOVIELENS_LSTM,
    PLAIN,
    POOLED_IMDB,
    POOLED_MOVIELENS,
    CentralSettings,
    FederatedSettings,
    RoundCounts,
    limit,
    more_seeds,
    rr,
)

_LENGTH: dict[Scale, int] = {"smoke": 10, "quick": 100}
_FEDERATED, _CENTRAL, _EVALUATE = (
    RoundCounts(full=25, quick=25),
    RoundCounts(full=4, quick=4),
    RoundCounts(full=5, quick=5),
)


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
        """The plan of the federated row."""
        clients = 3 if scale == "smoke" else 100
        return {
            "name": "trial",
            "data": {
                "source": self.source,
                "clients": clients,
                "partition": "iid",
                **limit(scale, self.quick_rows),
            },
            "features": {
                "text": "sequence",
                "buckets": 5000,
                "stop_words": self.stop_words,
                "length": _LENGTH[scale],
            },
            "model": {"name": "lstm", "embedding": 100, "hidden": [100, 50, 25]},
            "local": {"optimizer": "adam", "lr": self.lr, "epochs": 3, "batches": 5},
            "codec": rr(1.0, self.clip),
            "server": {"rounds": _FEDERATED.at(scale), "evaluate_every": _EVALUATE.at(scale)},
        }

    def central(self, scale: Scale) -> dict[str, Any]:
        """The plan of the central row."""
        return {
            **self.federated(scale),
            "regime": "central",
            "local": {"optimizer": "adam", "lr": 1e-3, "batch": self.central_batch},
            "codec": PLAIN,
            "server": {"rounds": _CENTRAL.at(scale)},
        }


_SETS = (
     _Texts(name="IMDB", source="imdb", lr=1e-3, clip=1e-3, stop_words=False, central_batch=50),
    _Texts( name="MovieLens", source="movielens1m", lr=1e-2, clip=1e-2, stop_words=True,
    central_batch=500, quick_rows=25_000, ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _OneStep:
    """A data set whose rows are the only step of the LSTM: clip and server learning rate."""

    federated: FederatedSettings
    pooled: CentralSettings
    clip: float
    rate: float = 1.0


_STEPS = {
    "IMDB": _OneStep(federated=IMDB_LSTM, pooled=POOLED_IMDB, clip=1e-3, rate=2.0),
    "MovieLens": _OneStep(federated=MOVIELENS_LSTM, pooled=POOLED_MOVIELENS, clip=1e-2),
}


_OPEN_BY_THREE = ("IMDB",)


def one_step(scale: Scale) -> PaperTable:
    """Table 7 as in the paper: the LSTM takes the sentence vector as its only step."""
    cells = []
    rounds = _FEDERATED.at(scale)
    for name, step in _STEPS.items():
        server = {
            "rounds": rounds,
            "evaluate_every": min(5, rounds),
            **({} if step.rate == 1 else {"lr": step.rate}),
        }
        trials = {
            "central": step.pooled.trial(scale, LSTM_STEP),
            "federated": step.federated.trial(scale, 100, rr(1.0, step.clip), server),
        }
        if name in _OPEN_BY_THREE:
            trials["federated"] = more_seeds(trials["federated"], scale)
        cells += _pair(name, trials)
    note = (
        "Epsilon 1 per bit, q = .001 (IMDB) and .01 (MovieLens). IMDB: d ="
        " 1,021,651, server learning rate 2: in R rounds of q = .001 at rate"
        " 1, a weight moves by at most R q."
    )
    return PaperTable(
        name="7",
        title="LSTM(50) as first layer, one step over the row",
        cells=tuple(cells),
        note=note,
    )


def word_by_word(scale: Scale) -> PaperTable:
    """Table 7 in our second interpretation: the LSTM reads the first 100 words of a row one after
    the other.
    """
    cells = []
    size: Scale = "smoke" if scale == "smoke" else "quick"
    for texts in _SETS:
        settings = {"central": texts.central(size), "federated": texts.federated(size)}
        cells += _pair(
            texts.name,
            {
                kind: PaperTrial(kind=PLAN, settings=one, seeds=(1,))
                for kind, one in settings.items()
            },
        )
    note = (
        "Epsilon 1 per bit, q = .001 and .01: in R rounds no weight moves by"
        " more than R q, which is too little for this net. It uses 100 words per row and part of the"
        " ratings: all of them would take hours."
    )
    return PaperTable(
        name="7-words",
        title="LSTM(50) over words, our second interpretation of table 7",
        cells=tuple(cells),
        note=note,
    )


def _pair(name: str, trials: dict[str, PaperTrial]) -> list[PaperCell]:
    return [
        PaperCell(row=f"{name}, {kind}", column=metric, paper=paper, trial=trial, metric=metric)
        for kind, trial in trials.items()
        for metric, paper in zip(("auc", "accuracy"), printed.TABLE_7[name, kind], strict=True)
    ]
