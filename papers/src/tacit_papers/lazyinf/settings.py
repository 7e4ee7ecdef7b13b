"""The one plan behind LazyInf's cells, and the size of its runs at each scale.

Learning rates, clips and projections were chosen on seeds from 1,001 on, which no cell uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tacit.reproduction import Scale
from tacit_papers.published import PLAN, PaperTrial

Tree = dict[str, Any]
Source = Literal["mnist", "cifar10"]
Defence = dict[str, Any]
"""What a run does against corrupted clients, as tables of a plan."""

_HELD, _ROWS = 1 / 3, 150
"""Each client has 150 rows: 100 to train on, 50 to test others on."""
_PUBLIC: dict[Source, int] = {"mnist": 600, "cifar10": 500}
"""1 % of the set's train rows."""
VOTE = 0.5
"""Epsilon per vote that the paper calls eps = 1."""


@dataclass(frozen=True, kw_only=True)
class LazyinfSize:
    """The size of runs at a scale."""

    clients: int = 100
    public: int | None = None  # rows at the center; None: 1 % of the set
    wide: int = 128  # directions of runs that measure the model
    frozen: bool = True  # CIFAR-10 as the features of a pretrained network, else as pixels
    rounds: int  # of runs that measure the model
    budget_rounds: int = 10
    shares: tuple[float, ...]  # of corrupted clients
    collusion: int  # shares of colluding testers that are tried
    seeds: tuple[int, ...]
    model_seeds: tuple[int, ...]
    harm_seeds: tuple[int, ...]  # of what random labels cost, which three seeds left open
    attack_seeds: tuple[int, ...]
    round_seeds: tuple[int, ...] = (1, 2, 3, 4, 5)  # of detection in every round


SIZES: dict[Scale, LazyinfSize] = {
     "smoke": LazyinfSize( clients=12, public=120, wide=32, frozen=False, rounds=2, budget_rounds=2,
    shares=(0.0, 0.4), collusion=1, seeds=(1,), model_seeds=(1,), harm_seeds=(1,), attack_seeds=(1,), round_seeds=(1,), ), "quick":
    LazyinfSize(rounds=10, shares=(0.0, 0.4), collusion=5, seeds=(1, 2, 3), model_seeds=(1, 2, 3), harm_seeds=tuple(range(1, 11)),
    attack_seeds=(1,)), "full": LazyinfSize( rounds=20, shares=(0.0, 0.1, 0.2, 0.4, 0.6), collusion=9,
    seeds=tuple(range(1, 11)), model_seeds=(1, 2, 3), harm_seeds=tuple(range(1, 11)),
    attack_seeds=(1, 2, 3), ),
}  # fmt: skip

_FEATURES: dict[Source, Tree] = {
    "mnist": {"project": 9, "directions": "classes", "row_norm": 10.0},
    "cifar10": {"project": 9, "directions": "classes", "row_norm": 10.0},
}
_WARM: dict[Source, Tree] = {
    "mnist": {"epochs": 20, "lr": 0.018},
    "cifar10": {"epochs": 20, "lr": 0.018},
}
_STEP, _CLIP = 1e-4, 2.0
"""Learning rate of a contributor's step, and the gradient clip of one row of a contributor with
noise.
"""


def plan(
    scale: Scale, source: Source, rounds: int = 1, corrupt: Tree | None = None, **tables: Tree
) -> Tree:
    """The plan: a linear head on public directions, an initial model from public rows, clients with
    150 rows each.

    Without `corrupt`, the paper's corruption; with an empty table, none. Other tables are merged
    into the plan.
    """
    size = SIZES[scale]
    public = size.public or _PUBLIC[source]
    clients = tables.get("data", {}).get("clients", size.clients)
    rows = public + _ROWS * clients
    tree: Tree = {
        "name": "trial",
        "data": {"source": source, "clients": clients, "limit": rows, "local_test": _HELD},
        "features": {
            **_FEATURES[source],
            **({"image": "efficientnet_lite0"} if source == "cifar10" and size.frozen else {}),
        },
        "public": {
            "share": public / rows,
            "batch": public,
            "optimizer": "sgd",
            "last_layer": "zero",
            **_WARM[source],
        },
        "model": {"name": "logistic"},
        "local": {"optimizer": "sgd", "lr": 0.02, "batch": 25, "epochs": 1},
        "codec": {"name": "plain"},
        "server": {"rounds": rounds},
    }
    for name, table in tables.items():
        tree[name] = {**tree.get(name, {}), **table}
    chosen = (
        {"kind": "random_labels", "clients": 0.3, "labels": 0.9} if corrupt is None else corrupt
    )
    return {**tree, "corrupt": chosen} if chosen else tree


def votes(noise: Literal["nothing", "client", "record"] = "nothing", **settings: Any) -> Tree:
    """A `[filter]` table: small steps, and noise of (1, 1e-5) on contributors' messages, if any."""
    tree: Tree = {"lr": _STEP, "batch_rows": 100, "max_rejected": 0.8, **settings}
    if noise != "nothing":
        clip = _CLIP if noise == "record" else _CLIP * _STEP
        tree |= {"protect": noise, "epsilon": 1.0, "delta": 1e-5, "clip": clip}
    return tree


def train_trial(tree: Tree, seeds: tuple[int, ...]) -> PaperTrial:
    """A plan's trial over seeds."""
    return PaperTrial(kind=PLAN, settings=tree, seeds=seeds)
