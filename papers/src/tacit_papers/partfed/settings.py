"""The one plan behind PartFed's cells, and the size of its runs at each scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.reproduction import Scale
from tacit_papers.published import PLAN, PaperTrial

Tree = dict[str, Any]

_NOMINAL = ["workclass", "marital-status", "occupation", "relationship", "race", "native-country"]
_ORDERED = ["age", "education-num", "hours-level", "gain-level", "loss-level"]
ENCODINGS: dict[str, Tree] = {
    "E1": {
        "columns": {"numeric": _ORDERED, "categorical": [*_NOMINAL, "sex"]},
        "categorical": "codes",
        "hidden": [12],
    },
    "E2": {
        "columns": {"numeric": [*_ORDERED, "male"], "categorical": _NOMINAL},
        "categorical": "onehot",
        "hidden": [86],
    },
}
AS_IN_THE_CENSUS: Tree = {
    "numeric": ["age", "education-num", "hours-per-week", "capital-gain", "capital-loss"],
    "categorical": [*_NOMINAL, "sex"],
}
FEDAVG, CENTRAL = 555, 1
"""Two thresholds: one above the largest class, so that nothing is shared; and 1, so that everything
is.
"""


@dataclass(frozen=True, kw_only=True)
class PartfedSize:
    """The size of runs at a scale."""

    clients: int = 10
    limit: int | None = None
    rounds: int = 100
    evaluate_every: int = 5
    epochs: tuple[int, ...] = (5, 10, 20, 50, 100)  # the columns; a round is one epoch
    later: tuple[int, ...] = ()  # further columns of figure 3, the last of which it runs to
    seeds: tuple[int, ...]
    many_seeds: tuple[int, ...]  # of Figure 3's averaging, which is cheap and left claims open
    few_seeds: tuple[
        int, ...
    ]  # of what costs most: E2, and the search for what decides between E1 and E2
    measured_rounds: int
    releases: tuple[int, ...] = (2, 12, 52, 365)

    @property
    def longest(self) -> int:
        """The number of rounds in figure 3."""
        return self.later[-1] if self.later else self.rounds


SIZES: dict[Scale, PartfedSize] = {
     "smoke": PartfedSize( clients=3, limit=600, rounds=2, evaluate_every=2, epochs=(2,), seeds=(1,),
    many_seeds=(1,), few_seeds=(1,), measured_rounds=1, releases=(2,), ), "quick": PartfedSize(seeds=tuple(range(1, 6)),
    many_seeds=tuple(range(1, 6)), few_seeds=tuple(range(1, 4)), measured_rounds=10), "full": PartfedSize(later=(200, 400, 600),
    seeds=tuple(range(1, 11)), many_seeds=tuple(range(1, 31)), few_seeds=tuple(range(1, 6)),
    measured_rounds=30),
}  # fmt: skip


def plan(
    scale: Scale, rule: str, k: int, encoding: str = "E1", partition: str = "quantile", **share: Any
) -> Tree:
    """The plan: ten clients by age, one hidden layer as wide as the input, Adam 1e-3, batches of
    32.

    As in the paper, counts are over training and test rows of all clients.
    """
    chosen, size = ENCODINGS[encoding], SIZES[scale]
    limit = {} if size.limit is None else {"limit": size.limit}
    return {
         "name": "trial", "data": { "source": "adult", "clients": size.clients, "partition":
        partition, "by": "age", "test": 0.3, "columns": chosen["columns"], **limit, "share":
        {"rule": rule, "k": k, "counts": "with_test", **share}, }, "features": {"categorical":
        chosen["categorical"]}, "model": {"name": "mlp", "hidden": chosen["hidden"]}, "local":
        {"optimizer": "adam", "lr": 1e-3, "batch": 32, "epochs": 1}, "codec": {"name": "plain"},
        "server": {"rounds": size.rounds, "weights": "rows", "evaluate_every":
        size.evaluate_every},
    }  # fmt: skip


def train_trial(tree: Tree, seeds: tuple[int, ...]) -> PaperTrial:
    """A plan's trial over seeds."""
    return PaperTrial(kind=PLAN, settings=tree, seeds=seeds)


def count_trial(kind: str, **settings: Any) -> PaperTrial:
    """The trial of a count on the whole table, which involves no randomness."""
    return PaperTrial(kind=f"partfed_{kind}", settings=settings, seeds=())


def time_trial(trees: dict[str, Tree], scale: Scale) -> PaperTrial:
    """The trial that measures the times of some plans."""
    settings = {"trees": trees, "measured_rounds": SIZES[scale].measured_rounds}
    return PaperTrial(kind="partfed_times", settings=settings, seeds=SIZES[scale].few_seeds)
