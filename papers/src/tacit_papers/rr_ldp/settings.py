"""Training settings of this paper's cells: one value for each setting, named by the tables that use
it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tacit.reproduction import Scale
from tacit_papers.published import PLAN, PaperTrial

MLP: dict[str, Any] = {"name": "mlp", "hidden": [100, 50, 25]}
DROPOUT_MLP: dict[str, Any] = {**MLP, "dropout": 0.2}
LSTM_STEP: dict[str, Any] = {"name": "lstm_step", "hidden": [100, 50, 25]}
PLAIN = {"name": "plain"}
_SMOKE_ROWS = 300


@dataclass(frozen=True, kw_only=True)
class RoundCounts:
    """The number of rounds at the scales that decide claims."""

    full: int
    quick: int

    def at(self, scale: Scale) -> int:
        """The rounds of a run at a scale."""
        return {"smoke": 1, "quick": self.quick, "full": self.full}[scale]


@dataclass(frozen=True, kw_only=True)
class FederatedSettings:
    """A data set divided among clients, and their local training."""

    source: str
    local: dict[str, Any]
    features: dict[str, Any]
    quick_rows: int | None = None
    model: dict[str, Any] = field(default_factory=lambda: MLP)

    def trial(
        self, scale: Scale, clients: int, codec: dict[str, Any], server: dict[str, Any]
    ) -> PaperTrial:
        """The trial of the model under a codec."""
        settings = {
             "name": "trial", "data": { "source": self.source, "clients": min(clients, 5) if scale
            == "smoke" else clients, "partition": "iid", **limit(scale, self.quick_rows), },
            "features": self.features, "model": self.model, "local": {"optimizer": "adam",
            **self.local}, "codec": codec, "server": server,
        }  # fmt: skip
        return PaperTrial(kind=PLAN, settings=settings, seeds=seeds(scale))


@dataclass(frozen=True, kw_only=True)
class CentralSettings:
    """A data set in one place; the epoch is chosen on a tenth of the training rows, never on the
    test rows.
    """

    source: str
    lr: float
    batch: int
    optimizer: str = "adam"
    features: dict[str, Any] = field(default_factory=dict)
    quick_rows: int | None = None

    def trial(self, scale: Scale, model: dict[str, Any], buckets: int = 5000) -> PaperTrial:
        """The trial of a model on hashed text."""
        settings = {
            "source": self.source,
            "features": {"buckets": buckets, **self.features},
            "model": model,
            "local": {"optimizer": self.optimizer, "lr": self.lr, "batch": self.batch},
            "limit": limit(scale, self.quick_rows).get("limit"),
        }
        return PaperTrial(kind="central", settings=settings, seeds=seeds(scale))


IMDB = FederatedSettings(
    source="imdb", local={"lr": 1e-3, "epochs": 1, "batches": 5}, features={"buckets": 5000}
)
"""One local epoch of five batches per round: tables 3 and 5. With a small q only the sign of an
update counts; one epoch finds it as well as three, in a third of the time.
"""

IMDB_SLOW = FederatedSettings(
    source="imdb", local={"lr": 1e-3, "epochs": 1, "batches": 6}, features={"buckets": 5000}
)
"""One local epoch of six batches per round: as good after 30 rounds and not overfitted after 50
(table 1).
"""

IMDB_LSTM = FederatedSettings(
     source="imdb", local={"lr": 1e-3, "epochs": 3, "batches": 5}, features={"buckets": 5000},
    model=LSTM_STEP,
)  # fmt: skip
"""Three local epochs of five batches (table 7)."""

MOVIELENS = FederatedSettings(
     source="movielens1m", local={"lr": 1e-2, "epochs": 1, "batches": 5}, features={"buckets":
    5000, "stop_words": True}, quick_rows=100_000,
)  # fmt: skip
"""The one setting of every MovieLens cell."""

MOVIELENS_LSTM = replace(MOVIELENS, model=LSTM_STEP)

POOLED_IMDB = CentralSettings(source="imdb", lr=1e-3, batch=32)
POOLED_IMDB_LINEAR = CentralSettings(source="imdb", lr=0.1, batch=32, optimizer="sgd")
POOLED_IMDB_WORDS = CentralSettings(
    source="imdb", lr=1e-3, batch=128, features={"text": "sequence"}
)
POOLED_MOVIELENS = CentralSettings(
    source="movielens1m", lr=1e-2, batch=1000, features={"stop_words": True}, quick_rows=100_000
)


def seeds(scale: Scale) -> tuple[int, ...]:
    """The seeds of a trial: three where the scale allows it."""
    return (1, 2, 3) if scale == "full" else (1,)


def more_seeds(trial: PaperTrial, scale: Scale) -> PaperTrial:
    """The trial with eight seeds at the full scale: three left a claim open."""
    return replace(trial, seeds=tuple(range(1, 9))) if scale == "full" else trial


def limit(scale: Scale, quick_rows: int | None) -> dict[str, int]:
    """The plan key that limits a data set to a scale's rows; empty if all rows are used."""
    rows = {"smoke": _SMOKE_ROWS, "quick": quick_rows, "full": None}[scale]
    return {} if rows is None else {"limit": rows}


def rr(epsilon: float, clip: float, **more: Any) -> dict[str, Any]:
    """The codec table of randomised response."""
    return {"name": "rr", "epsilon": epsilon, "clip": clip, **more}
