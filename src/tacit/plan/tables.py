"""The tables of a plan: what may be written in each, and what stands there if nothing is."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Len, Lt
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

Positive = Annotated[float, Gt(0)]
Count = Annotated[int, Ge(1)]
Share = Annotated[float, Ge(0), Lt(1)]
Name = Annotated[str, Len(1, 200)]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Columns:
    """What each column of the table is for. Named data sets know their own."""

    text: tuple[Name, ...] = ()
    label: Name | None = None
    numeric: tuple[Name, ...] = ()
    categorical: tuple[Name, ...] = ()
    image: Name | None = None
    client: Name | None = None
    quasi: tuple[Name, ...] = ()
    split: Name | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Sharing:
    """Which rows a client hands to the server, and in what form. Without this table no row leaves anybody."""

    rule: Literal["k_anonymity", "label_k", "distinct_l", "entropy_l"] = "k_anonymity"
    k: Count | None = None
    l: Annotated[float, Ge(1)] | None = None  # noqa: E741 (the literature's name for it)
    release: Literal["columns", "whole_row"] = "columns"
    counts: Literal["local", "global", "stable", "with_test"] = "local"
    epsilon: Annotated[float, Gt(0), Le(20)] | None = None
    delta: Annotated[float, Gt(1e-12), Lt(1)] | None = None
    generalise: dict[Name, Name] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Data:
    """Where the rows come from and who holds them."""

    source: Name = "newsgroups20"
    columns: Columns = Columns()
    clients: Count = 100
    partition: Literal["client", "iid", "dirichlet", "quantile", "interval"] = "iid"
    alpha: Positive = 1.0
    by: Name | None = None
    test: Share = 0.2
    validation: Share = 0.0
    local_test: Share = 0.0
    divide_test: bool = False
    limit: Count | None = None
    share: Sharing | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Features:
    """How rows become numbers."""

    text: Literal["binary", "sequence", "words", "pieces"] = "binary"
    buckets: Annotated[int, Ge(2), Le(50_000_000)] = 5000
    base: Annotated[int, Ge(2), Le(1_000_003)] = 31
    length: Annotated[int, Ge(1), Le(100_000)] = 300
    stop_words: bool = False
    numeric: Literal["minmax", "raw"] = "minmax"
    categorical: Literal["codes", "onehot"] = "onehot"


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Model:
    """What is trained: a built-in network or your own nn.Module as "package.module:Class"."""

    name: Name = "logistic"
    hidden: tuple[Count, ...] = ()
    embedding: Count = 100
    dropout: Share = 0.0
    checkpoint: Name | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Local:
    """What a client does with its rows in one round."""

    method: Literal["fedavg", "fedprox", "central", "local"] = "fedavg"
    optimizer: Literal["sgd", "adam", "adamw"] = "adam"
    lr: Positive = 1e-3
    epochs: Count | None = None
    steps: Count | None = None
    batch: Count | None = None
    batches: Count | None = None
    proximal: Annotated[float, Ge(0)] = 0.0
    weight_decay: Annotated[float, Ge(0)] = 0.0
    schedule: Literal["constant", "linear"] = "constant"
    clip_norm: Positive | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Private:
    """What stays with each client: parameters no update, message or server file ever holds."""

    words: Literal["none", "digits", "all"] = "none"
    parameters: tuple[Name, ...] = ()
    adapt: Literal["none", "pass", "reconstruct"] = "none"
    lr: Positive | None = None
    store: Literal["disk", "none"] = "disk"
    start: Literal["random", "public", "rotated"] = "random"
    rows: Literal["own", "keyed"] = "own"
    spelling: Literal["word", "stem", "mixed"] = "word"


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Codec:
    """What happens to an update before it leaves the client."""

    name: Literal["plain", "rr", "rr_sampled"] = "rr"
    epsilon: Annotated[float, Gt(0), Le(1000)] | None = None
    clip: Positive | None = None
    clip_l1: Positive | None = None
    decoder: Literal["corrected", "printed"] = "corrected"


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Server:
    """How the server picks clients, weighs them, and moves the model."""

    rounds: Count = 20
    cohort: Literal["all", "count", "poisson"] = "all"
    cohort_size: Count | None = None
    weights: Literal["equal", "rows", "capped"] = "equal"
    weight_cap: Count | None = None
    optimizer: Literal["sgd", "momentum", "adam", "yogi"] = "sgd"
    lr: Positive = 1.0
    momentum: Share = 0.9
    evaluate_every: Count = 1
    test_rows: Count | None = None
    test_clients: Count | None = None
    patience: Count | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Ledger:
    """How the account of privacy is stated."""

    delta: Annotated[float, Gt(0), Lt(1)] = 1e-5


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Engine:
    """Settings that change how fast a run is, never what comes out of it."""

    workers: Annotated[int, Ge(1), Le(256)] = 2


Baseline = Literal["central", "fedavg", "local"]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Plan:
    """One job, complete."""

    name: Annotated[str, Len(1, 60)] = "run"
    seed: Annotated[int, Ge(0)] = 0
    baselines: tuple[Baseline, ...] = ()
    data: Data = Data()
    features: Features = Features()
    model: Model = Model()
    local: Local = Local()
    private: Private = Private()
    codec: Codec = Codec(epsilon=1.0, clip=1e-3)
    server: Server = Server()
    ledger: Ledger = Ledger()
    engine: Engine = Engine()


GIVEN = "given"
"""`data.source` of a plan whose rows are handed over in Python rather than read from a place."""

BUILT_IN_MODELS = ("logistic", "mlp", "embedding", "lstm", "bilstm", "encoder")
