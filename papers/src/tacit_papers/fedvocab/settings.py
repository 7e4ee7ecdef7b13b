"""The plans behind FedVocab's cells: how the methods differ, and how large the runs are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.reproduction import Scale
from tacit_papers.fedvocab import printed
from tacit_papers.fedvocab.printed import Printed
from tacit_papers.published import PLAN, PaperTrial

_PUBLIC = {"start": "public"}


@dataclass(frozen=True, kw_only=True)
class Method:
    """What stays with a client, how it is adapted, and the proximal term; methods differ in nothing
    else.
    """

    private: dict[str, Any]
    local: dict[str, Any] = field(default_factory=dict)
    alone: bool = False  # every client trains by itself; there are no rounds
    even: bool = False  # labels are spread evenly over clients


METHODS: dict[str, Method] = {
    "FedVocab": Method(private={"words": "all", "adapt": "pass", **_PUBLIC}),
    "FedVocab, slow table": Method(
        private={"words": "all", "adapt": "pass", "lr": 5e-4, **_PUBLIC}
    ),
    "FedAvg": Method(private=_PUBLIC),
    "FedVocab, no adaptive pass": Method(private={"words": "all", **_PUBLIC}),
    "Local only, 10 epochs": Method(
        private={"words": "all", **_PUBLIC}, local={"epochs": 10}, alone=True
    ),
    "FedProx": Method(private=_PUBLIC, local={"method": "fedprox", "proximal": 0.1}),
    "LG-FedAvg": Method(private={"words": "all", "parameters": ["reader.*"], **_PUBLIC}),
    "FedRecon": Method(
        private={"words": "digits", "adapt": "reconstruct", "store": "none", **_PUBLIC}
    ),
}

MANY_SEEDS = tuple(range(1, 11))
_WORDS = {"words": "all", **_PUBLIC}
_SLOW = 5e-4  # chosen on SST-2's dev sentences
LADDER: dict[str, Method] = {
    "frozen tables": Method(private={**_WORDS, "train": False}),
    "frozen tables, accumulated pass": Method(
        private={**_WORDS, "train": False, "adapt": "pass_accumulated"}
    ),
    "slow tables": Method(private={**_WORDS, "lr": _SLOW}),
    "slow tables, adaptive pass": Method(private={**_WORDS, "lr": _SLOW, "adapt": "pass"}),
    "trained tables": Method(private=_WORDS),
    "trained tables, adaptive pass": Method(private={**_WORDS, "adapt": "pass"}),
    "varied public tables, adaptive pass": Method(
        private={**_WORDS, "adapt": "pass", "start": "varied"}
    ),
    "FedAvg": Method(private=_PUBLIC),
    "FedAvg, frozen table": Method(private=_PUBLIC, local={"table_lr": 0.0}),
}


@dataclass(frozen=True, kw_only=True)
class FedvocabSize:
    """The size of a run, and what the paper tuned by data set."""

    clients: int = 100
    cohort: int = 10
    rounds: int = 100
    limit: int | None = None
    length: int
    hidden: int = 0
    dropout: float = 0.5
    batch: int
    lr: float
    test_rows: int | None = None
    test_clients: int | None = None
    evaluate_every: int | None = None


@dataclass(frozen=True, kw_only=True)
class Network:
    """A kind of network: how it reads text, how it is trained, and how large its runs are."""

    label: str
    printed: Printed
    text: str
    optimizer: str
    model: Callable[[FedvocabSize], dict[str, Any]]
    full: dict[str, FedvocabSize]  # by data set
    small: dict[str, FedvocabSize]  # the same for the small tables
    seeds: tuple[int, ...]
    small_seeds: tuple[int, ...]
    cost: str  # what a full run takes

    def size(self, source: str, scale: Scale) -> FedvocabSize:
        """The size of a run on a data set at a scale."""
        if scale == "smoke":
            smallest = replace(
                self.full[source],
                clients=6,
                cohort=2,
                rounds=2,
                limit=60,
                length=12,
                evaluate_every=2,
            )
            return replace(smallest, hidden=8, test_rows=30, test_clients=2)
        return self.small[source] if scale == "quick" else self.full[source]


_SMALL: dict[str, Any] = {
    "clients": 50, "rounds": 24, "evaluate_every": 3, "test_rows": 200, "test_clients": 5,
}  # fmt: skip
_SMALL_ENCODER: dict[str, Any] = {
     "clients": 20, "cohort": 5, "rounds": 8, "limit": 640, "evaluate_every": 2, "test_rows": 100,
    "test_clients": 5,
}  # fmt: skip
_ROUNDS_OF_ENCODER: dict[str, Any] = {
    "limit": 3_200,
    "evaluate_every": 5,
    "test_rows": 100,
    "test_clients": 10,
}
"""All of the paper's rounds, on fewer rows."""

BILSTM = Network(
    label="BiLSTM",
    printed=printed.BILSTM,
    text="words",
    optimizer="adam",
    model=lambda size: {
        "name": "bilstm",
        "hidden": [size.hidden],
        "dropout": size.dropout,
        "embedding": 100,
    },
    full={
        "newsgroups20": FedvocabSize(
            hidden=100, length=64, batch=32, lr=5e-3, test_rows=400, test_clients=20
        ),
        "sst2": FedvocabSize(
            hidden=100, length=32, batch=400, lr=5e-3, test_rows=400, test_clients=20
        ),
        "ag_news": FedvocabSize(
            hidden=100, length=64, batch=128, lr=5e-3, dropout=0.1, test_rows=400, test_clients=20
        ),
    },
    small={
        "newsgroups20": FedvocabSize(
            hidden=64, length=32, batch=32, lr=5e-3, limit=5_000, **_SMALL
        ),
        "sst2": FedvocabSize(hidden=64, length=32, batch=50, lr=5e-3, limit=5_000, **_SMALL),
        "ag_news": FedvocabSize(
            hidden=64, length=32, batch=20, lr=5e-3, dropout=0.1, limit=5_000, **_SMALL
        ),
    },
    seeds=(1,),
    small_seeds=(1, 2, 3),
    cost="a run on SST-2 takes about 20 minutes on one core",
)
ENCODER = Network(
    label="MiniLM-L6 (the paper: DistilBERT)",
    printed=printed.DISTILBERT,
    text="pieces",
    optimizer="adamw",
    model=lambda size: {"name": "encoder", "checkpoint": "minilm"},
    full={
        "sst2": FedvocabSize(length=32, batch=32, lr=2e-4, **_ROUNDS_OF_ENCODER),
        "newsgroups20": FedvocabSize(length=32, batch=32, lr=2e-4, **_ROUNDS_OF_ENCODER),
    },
    small={
        "newsgroups20": FedvocabSize(length=32, batch=16, lr=2e-4, **_SMALL_ENCODER),
        "sst2": FedvocabSize(length=24, batch=16, lr=2e-4, **_SMALL_ENCODER),
    },
    seeds=(1, 2, 3),
    small_seeds=(1, 2, 3, 4, 5),  # three left open which of two methods is better at home
    cost="a run takes 15 to 30 minutes on one core per seed",
)


_FEW_ROUNDS: dict[str, Any] = {
    "clients": 10, "evaluate_every": 2, "test_rows": 100, "test_clients": 5,
}  # fmt: skip
_ROWS = {"newsgroups20": 113, "sst2": 673}
"""A client's rows in the paper."""

ENCODER_ROWS = replace(
    ENCODER,
    small={
        "newsgroups20": FedvocabSize(
            length=24, batch=16, lr=2e-4, cohort=3, rounds=6, limit=10 * _ROWS["newsgroups20"], **_FEW_ROUNDS
        ),
        "sst2": FedvocabSize(
            length=24, batch=16, lr=2e-4, cohort=2, rounds=4, limit=10 * _ROWS["sst2"], **_FEW_ROUNDS
        ),
    },
    small_seeds=(1, 2, 3),
)  # fmt: skip
"""The paper's rows per client with fewer clients and rounds: all of them take days."""


def trial(
    network: Network, source: str, method: Method, scale: Scale, *, open_by_three: bool = False
) -> PaperTrial:
    """The trial behind one row of a table. Small runs have several seeds, and more if three left a
    claim open.
    """
    size = network.size(source, scale)
    size = replace(size, evaluate_every=None) if method.alone else size
    rounds = (
        {"rounds": 1}
        if method.alone
        else {"rounds": size.rounds, "cohort": "count", "cohort_size": size.cohort}
    )
    settings = {
         "name": "trial", "data": { "source": source, "clients": size.clients, "divide_test": True,
        **_partition(method), **_present(limit=size.limit), }, "features": {"text": network.text,
        "length": size.length, "stop_words": source == "newsgroups20"}, "model":
        network.model(size), "local": { "optimizer": network.optimizer, "lr": size.lr, "epochs": 1,
        "batch": size.batch, "schedule": "linear", "clip_norm": 15.0, **method.local, }, "private":
        method.private, "codec": {"name": "plain"}, **({"regime": "local_only"} if method.alone else
        {}), "server": {**rounds, **_list_evaluation_settings(size)},
    }  # fmt: skip
    few = {"smoke": (1,), "quick": network.small_seeds, "full": network.seeds}[scale]
    return PaperTrial(kind=PLAN, settings=settings, seeds=MANY_SEEDS if open_by_three else few)


def _partition(method: Method) -> dict[str, Any]:
    return {"partition": "iid"} if method.even else {"partition": "dirichlet", "alpha": 1.0}


def _list_evaluation_settings(size: FedvocabSize) -> dict[str, int]:
    return _present(
        test_rows=size.test_rows, test_clients=size.test_clients, evaluate_every=size.evaluate_every
    )


def _present(**keys: int | None) -> dict[str, int]:
    return {key: value for key, value in keys.items() if value is not None}
