"""FedVocab: Zhang et al. 2022, tables 3 to 5 and figure 4. The printed numbers, and the plans that stand beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tacit.papers.published import Cell, Paper, Scale, Table, Trial

_PUBLIC = {"start": "public"}
METHODS: dict[str, dict[str, Any]] = {
    "FedVocab": {"private": {"words": "all", "adapt": "pass", **_PUBLIC}},
    "FedVocab, slow table": {"private": {"words": "all", "adapt": "pass", "lr": 5e-4, **_PUBLIC}},
    "FedAvg": {"private": _PUBLIC},
    "FedVocab, no adaptive pass": {"private": {"words": "all", **_PUBLIC}},
    "Local only, 10 epochs": {"private": {"words": "all", **_PUBLIC}, "local": {"method": "local", "epochs": 10}},
    "FedProx": {"private": _PUBLIC, "local": {"method": "fedprox", "proximal": 0.1}},
    "LG-FedAvg": {"private": {"words": "all", "parameters": ["reader.*"], **_PUBLIC}},
    "FedRecon": {"private": {"words": "digits", "adapt": "reconstruct", "store": "none", **_PUBLIC}},
}
"""What stays, how it is adapted, and the pull: nothing else tells the methods apart."""

# Global and local accuracy as printed: for each method the pairs of 20News, SST-2 and AG News.
_BILSTM = {
    "Local only, 10 epochs": ((0.073, 0.422), (0.547, 0.837), (0.340, 0.646)),
    "FedAvg": ((0.354, 0.563), (0.830, 0.896), (0.841, 0.916)),
    "FedProx": ((0.356, 0.563), (0.828, 0.892), (0.843, 0.901)),
    "LG-FedAvg": ((0.144, 0.534), (0.591, 0.856), (0.481, 0.887)),
    "FedRecon": ((0.383, 0.573), (0.854, 0.902), (0.860, 0.920)),
    "FedVocab": ((0.403, 0.586), (0.878, 0.921), (0.869, 0.928)),
    "FedVocab, no adaptive pass": ((0.371, 0.554), (0.851, 0.898), (0.863, 0.915)),
}
_DISTILBERT = {
    "Local only, 10 epochs": ((0.082, 0.594), (0.511, 0.825), (0.325, 0.778)),
    "FedAvg": ((0.736, 0.784), (0.923, 0.950), (0.872, 0.922)),
    "FedProx": ((0.735, 0.783), (0.922, 0.949), (0.884, 0.929)),
    "LG-FedAvg": ((0.535, 0.800), (0.638, 0.855), (0.632, 0.898)),
    "FedRecon": ((0.755, 0.820), (0.930, 0.958), (0.871, 0.941)),
    "FedVocab": ((0.752, 0.868), (0.925, 0.956), (0.878, 0.955)),
    "FedVocab, no adaptive pass": ((0.729, 0.787), (0.907, 0.943), (0.862, 0.933)),
}
_SETS = {"newsgroups20": "20News", "sst2": "SST-2", "ag_news": "AG News"}
_COLUMNS = (
    ("global, best round", "best_global_seen"),
    ("local, best round", "best_local_seen"),
    ("global, last ten rounds", "late_global"),
    ("local, last ten rounds", "late_local"),
    ("global, last round", "assembled_global"),
    ("local, last round", "assembled_local"),
    ("global, trained on", "global_accuracy"),
    ("global, trained on, geometric", "global_geometric"),
    ("local, trained on", "local_accuracy"),
)
_PRINTED = ("best_global_seen", "best_local_seen")
_TRAINED = ("global_accuracy", "global_geometric", "local_accuracy")
_PRINTED_ALONE = ("global_accuracy", "local_accuracy")
"""Who trains alone takes part in no rounds: what the paper prints stands beside the model after its training."""


@dataclass(frozen=True, kw_only=True)
class _Size:
    """How large a run is, and what the paper tuned by data set."""

    clients: int = 100
    cohort: int = 10
    rounds: int
    limit: int | None = None
    length: int
    hidden: int = 0
    batch: int
    lr: float
    test_rows: int | None = None
    test_clients: int | None = None


_BILSTM_FULL = {
    "newsgroups20": _Size(rounds=100, hidden=300, length=512, batch=32, lr=5e-3),
    "sst2": _Size(rounds=100, hidden=300, length=32, batch=400, lr=5e-3),
    "ag_news": _Size(rounds=100, hidden=300, length=128, batch=128, lr=5e-3),
}
_ENCODER_FULL = {
    "newsgroups20": _Size(rounds=100, length=256, batch=32, lr=5e-5),
    "sst2": _Size(rounds=100, length=32, batch=256, lr=5e-5),
    "ag_news": _Size(rounds=100, length=128, batch=64, lr=5e-5),
}


def _size(model: str, source: str, scale: Scale) -> _Size:
    full = (_BILSTM_FULL if model == "bilstm" else _ENCODER_FULL)[source]
    if scale == "smoke":
        return replace(full, clients=10, cohort=3, rounds=2, limit=200, length=12, hidden=8, test_rows=400, test_clients=3)
    if scale == "quick" and model == "bilstm":
        return replace(full, hidden=100, length=min(64, full.length), test_rows=400, test_clients=20)
    if scale == "quick":
        return replace(full, rounds=15, limit=10_000, batch=32, lr=2e-4, test_rows=200, test_clients=10)
    return full


def tables(scale: Scale) -> tuple[Table, ...]:
    """Return the paper's tables at a scale."""
    sources = ("sst2", "newsgroups20") if scale != "full" else ("sst2", "newsgroups20", "ag_news")
    recurrent = [_accuracy(f"bilstm-{source}", "bilstm", source, _BILSTM, list(METHODS), scale) for source in sources]
    transformer = ["FedVocab", "FedAvg"] if scale != "full" else list(_DISTILBERT)
    encoders = [_accuracy(f"minilm-{source}", "encoder", source, _DISTILBERT, transformer, scale) for source in sources[:1]]
    return (*recurrent, *encoders, _communication())


def _accuracy(name: str, model: str, source: str, printed: Any, methods: list[str], scale: Scale) -> Table:
    order = {"newsgroups20": 0, "sst2": 1, "ag_news": 2}
    cells = []
    for method in (known for known in METHODS if known in methods):
        trial = Trial(kind="plan", settings=plan_of(model, source, method, scale))
        alone = METHODS[method].get("local", {}).get("method") == "local"
        figures = printed[method][order[source]] if method in printed else (None, None)
        beside = dict(zip(_PRINTED_ALONE if alone else _PRINTED, figures, strict=True))
        for column, metric in (known for known in _COLUMNS if not alone or known[1] in _TRAINED):
            paper = beside.get(metric)
            cells.append(Cell(row=method, column=column, paper=paper, trial=trial, metric=metric, low=_floor(scale, paper)))
    words = "BiLSTM" if model == "bilstm" else "MiniLM-L6 (the paper: DistilBERT)"
    return Table(name=name, title=f"{words} on {_SETS[source]}: accuracy by method", cells=tuple(cells), note=_NOTE)


_NOTE = (
    "Best round, the paper's form: after each round the new shared part is put together with the own parts of that round's "
    "clients; a client's best round counts, chosen on the test rows, so it is optimistic. Last ten rounds: the mean of the same "
    "figures over the last ten rounds. Last round: the final shared part with clients' own parts. Trained on: after one more "
    "local training, which leans to a client's own labels. Means over clients, arithmetic unless it says geometric."
)


def _floor(scale: Scale, paper: float | None) -> float:
    """A printed figure may be missed by five points; a slice of the data proves only that a cell runs."""
    return 0.0 if scale == "smoke" or paper is None else round(paper - 0.05, 3)


def plan_of(model: str, source: str, method: str, scale: Scale) -> dict[str, Any]:
    """Return the plan of one row of a table."""
    chosen, size = METHODS[method], _size(model, source, scale)
    local = {
        "lr": size.lr, "epochs": 1, "batch": size.batch, "schedule": "linear", "clip_norm": 15.0, **chosen.get("local", {}),
    }  # fmt: skip
    server: dict[str, Any] = {"rounds": size.rounds, "cohort": "count", "cohort_size": size.cohort}
    if local.get("method") == "local":
        server = {"rounds": 1}
    data = {"source": source, "clients": size.clients, "partition": "dirichlet", "alpha": 1.0, "divide_test": True}
    text = {"length": size.length, "stop_words": source == "newsgroups20"}
    if model == "bilstm":
        dropout = 0.1 if source == "ag_news" else 0.5
        network = {"name": "bilstm", "hidden": [size.hidden], "dropout": dropout, "embedding": 100}
    else:
        network = {"name": "encoder", "checkpoint": "minilm"}
    return {
        "name": "trial",
        "seed": 1,
        "data": data if size.limit is None else {**data, "limit": size.limit},
        "features": {"text": "words" if model == "bilstm" else "pieces", **text},
        "model": network,
        "local": {"optimizer": "adam" if model == "bilstm" else "adamw", **local},
        "private": chosen["private"],
        "codec": {"name": "plain"},
        "server": {**server, **_set(test_rows=size.test_rows, test_clients=size.test_clients)},
    }


def _set(**keys: int | None) -> dict[str, int]:
    return {key: value for key, value in keys.items() if value is not None}


def _communication() -> Table:
    cells = []
    for method in ("FedAvg", "FedProx", "FedRecon", "LG-FedAvg", "FedVocab"):
        for words, width in ((400_000, 300), (341_479, 100)):
            kept = METHODS[method]["private"]
            settings = {"words": words, "width": width, "hidden": 300, "private_words": kept.get("words", "none"),
                        "private_reader": "parameters" in kept}  # fmt: skip
            trial = Trial(kind="message_bytes", settings=settings)
            column = f"{words:,} words, {width}-d"
            cells.append(Cell(row=f"{method}, MB up", column=column, paper=None, trial=trial, metric="megabytes", high=1e9))
            if method == "FedVocab":
                bounds = {"paper": 83.9, "low": 80.0} if width == 300 else {"paper": None, "low": 0.0}
                row = "FedAvg / FedVocab"
                cells.append(Cell(row=row, column=column, trial=trial, metric="ratio", high=1e9, **bounds))
    note = (
        "Sizes of serialised messages of one client and round, plain codec. The 400,000-word, 300-d table is the paper's; the "
        "public vectors at hand are 341,479 words of 100 numbers. A plain message is as long whatever its values are, so the "
        "larger table is measured with zeros in it."
    )
    return Table(
        name="bytes", title="Communication per client and round, BiLSTM of 300 per direction", cells=tuple(cells), note=note
    )


def _settings(scale: Scale) -> str:
    words = {
        "smoke": "200 rows, ten clients, two rounds: it proves that every cell runs.",
        "quick": "100 clients, Dirichlet(1.0), 10 a round. BiLSTM: 100 rounds with the paper's batch and rate, but 100 per "
        "direction in place of 300, GloVe 100-d, texts cut to 64 words (SST-2: 32); 400 common test rows. MiniLM: 10,000 rows, "
        "15 rounds, batch 32, rate 2e-4, 200 common test rows. After the last round 20 (MiniLM 10) clients are measured.",
        "full": "the paper's sizes but for the vectors: GloVe 100-d in place of 300-d, MiniLM-L6 in place of DistilBERT; "
        "100 rounds, no weight decay, no dropout of word vectors; AG News is the part that is at hand.",
    }
    return words[scale]


PAPER = Paper(
    name="fedvocab",
    title="FedVocab: private vocabularies in federated text models (Zhang et al., EMNLP 2022)",
    first_words=(
        "The embedding table stays on the device. Words can still be inferred if it started from public vectors. "
        "No differential privacy."
    ),
    tables=tables,
    settings_note=_settings,
)
