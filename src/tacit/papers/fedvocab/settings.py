"""The plans behind FedVocab's cells: what tells the methods apart, and how large runs are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.papers.fedvocab import printed
from tacit.papers.fedvocab.printed import Printed
from tacit.papers.published import PLAN, Scale, Trial

_PUBLIC = {"start": "public"}


@dataclass(frozen=True, kw_only=True)
class Method:
    """What stays with a client, how it is adapted, and the pull: nothing else tells the methods apart."""

    private: dict[str, Any]
    local: dict[str, Any] = field(default_factory=dict)
    alone: bool = False  # every client trains by itself; there are no rounds


METHODS: dict[str, Method] = {
    "FedVocab": Method(private={"words": "all", "adapt": "pass", **_PUBLIC}),
    "FedVocab, slow table": Method(private={"words": "all", "adapt": "pass", "lr": 5e-4, **_PUBLIC}),
    "FedAvg": Method(private=_PUBLIC),
    "FedVocab, no adaptive pass": Method(private={"words": "all", **_PUBLIC}),
    "Local only, 10 epochs": Method(private={"words": "all", **_PUBLIC}, local={"epochs": 10}, alone=True),
    "FedProx": Method(private=_PUBLIC, local={"method": "fedprox", "proximal": 0.1}),
    "LG-FedAvg": Method(private={"words": "all", "parameters": ["reader.*"], **_PUBLIC}),
    "FedRecon": Method(private={"words": "digits", "adapt": "reconstruct", "store": "none", **_PUBLIC}),
}


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a run is, and what the paper tuned by data set."""

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


@dataclass(frozen=True, kw_only=True)
class Network:
    """A kind of network: how it reads text, how it is trained, and how large its runs are."""

    label: str
    printed: Printed
    text: str
    optimizer: str
    model: Callable[[Size], dict[str, Any]]
    full: dict[str, Size]  # by data set
    quick: dict[str, Any]  # what differs at quick scale
    quick_length: int = 512  # texts are cut to it at quick scale

    def size(self, source: str, scale: Scale) -> Size:
        """Return how large a run on a data set is at a scale."""
        full = self.full[source]
        if scale == "smoke":
            return replace(full, clients=10, cohort=3, rounds=2, limit=200, length=12, hidden=8, test_rows=400, test_clients=3)
        if scale == "quick":
            return replace(full, length=min(self.quick_length, full.length), **self.quick)
        return full


BILSTM = Network(
    label="BiLSTM",
    printed=printed.BILSTM,
    text="words",
    optimizer="adam",
    model=lambda size: {"name": "bilstm", "hidden": [size.hidden], "dropout": size.dropout, "embedding": 100},
    full={
        "newsgroups20": Size(hidden=300, length=512, batch=32, lr=5e-3),
        "sst2": Size(hidden=300, length=32, batch=400, lr=5e-3),
        "ag_news": Size(hidden=300, length=128, batch=128, lr=5e-3, dropout=0.1),
    },
    quick={"hidden": 100, "test_rows": 400, "test_clients": 20},
    quick_length=64,
)
ENCODER = Network(
    label="MiniLM-L6 (the paper: DistilBERT)",
    printed=printed.DISTILBERT,
    text="pieces",
    optimizer="adamw",
    model=lambda size: {"name": "encoder", "checkpoint": "minilm"},
    full={
        "newsgroups20": Size(length=256, batch=32, lr=5e-5),
        "sst2": Size(length=32, batch=256, lr=5e-5),
        "ag_news": Size(length=128, batch=64, lr=5e-5),
    },
    quick={"rounds": 15, "limit": 10_000, "batch": 32, "lr": 2e-4, "test_rows": 200, "test_clients": 10},
)


def trial(network: Network, source: str, method: Method, scale: Scale) -> Trial:
    """Return the run behind one row of a table."""
    size = network.size(source, scale)
    rounds = {"rounds": 1} if method.alone else {"rounds": size.rounds, "cohort": "count", "cohort_size": size.cohort}
    settings = {
        "name": "trial",
        "data": {
            "source": source, "clients": size.clients, "partition": "dirichlet", "alpha": 1.0, "divide_test": True,
            **_present(limit=size.limit),
        },
        "features": {"text": network.text, "length": size.length, "stop_words": source == "newsgroups20"},
        "model": network.model(size),
        "local": {
            "optimizer": network.optimizer, "lr": size.lr, "epochs": 1, "batch": size.batch, "schedule": "linear",
            "clip_norm": 15.0, **method.local,
        },
        "private": method.private,
        "codec": {"name": "plain"},
        **({"regime": "local_only"} if method.alone else {}),
        "server": {**rounds, **_present(test_rows=size.test_rows, test_clients=size.test_clients)},
    }  # fmt: skip
    return Trial(kind=PLAN, settings=settings, seeds=(1,))


def _present(**keys: int | None) -> dict[str, int]:
    return {key: value for key, value in keys.items() if value is not None}
