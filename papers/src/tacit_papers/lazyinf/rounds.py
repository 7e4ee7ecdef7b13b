"""Detection in every round of a run, at one budget for all votes of a tester in the run."""

from __future__ import annotations

from tacit.reproduction import Scale
from tacit_papers.lazyinf.settings import SIZES, LazyinfSize, Source, Tree, plan, train_trial
from tacit_papers.published import PaperCell, PaperTable

_SOURCES: dict[Source, str] = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
_ATTACKS: dict[str, Tree] = {
    "random labels": {"kind": "random_labels", "labels": 0.9},
    "flipped labels": {"kind": "flipped_labels"},
    "backdoor": {"kind": "backdoor"},
    "sign flip": {"kind": "sign_flip"},
}
_COLUMNS = {
    "precision, worst round": "filter_least_precision",
    "recall, worst round": "filter_least_recall",
    "accuracy, last round": "accuracy",
    "epsilon of votes": "votes_epsilon",
}
_ROUNDS, _EVERY = 20, 5
_VOTES_EPSILON = 3.54
"""Per tester and voting round; four such rounds compose to 8 at delta 1e-5."""
_VOTES: Tree = {
    "lr": 0.05,
    "batch_rows": 100,
    "head_scale": 0.25,
    "votes_epsilon": _VOTES_EPSILON,
    "rule": "self_tuned",
    "memory": 1.0,
}


def detect_in_every_round(scale: Scale) -> PaperTable:
    """The worst round of runs whose clients train for ten local epochs per round."""
    size, cells = SIZES[scale], list[PaperCell]()
    for source, title in _SOURCES.items():
        for name, attack in _ATTACKS.items():
            trial = train_trial(_build_plan(scale, size, source, attack), size.round_seeds)
            cells += [
                PaperCell(row=f"{title}, {name}", column=column, paper=None, trial=trial, metric=metric)
                for column, metric in _COLUMNS.items()
            ]  # fmt: skip
    note = (
        "Three tenths of the clients are corrupted, and everybody trains for many local epochs per"
        " round. MNIST: pixels and one hidden layer of 32; CIFAR-10: 128 directions of frozen"
        " features and the same network. Clients vote in every fifth round, and other rounds keep"
        " the decision. Votes are summed by secure aggregation; their epsilon is per tester and run"
        " at delta 1e-5. The worst round is that with the least precision, or recall. Last layers"
        " that are voted on have no noise here. Updates have epsilon 50 per client and run."
    )
    return PaperTable(
        name="rounds",
        title="Corrupted clients found in every round",
        cells=tuple(cells),
        note=note,
    )


def _build_plan(scale: Scale, size: LazyinfSize, source: Source, attack: Tree) -> Tree:
    rounds = min(_ROUNDS, 2 * size.rounds)
    frozen = {"image": "efficientnet_lite0"} if size.frozen else {}
    tree = plan(
        scale,
        source,
        rounds,
        {"clients": 0.3, **attack},
        public={"epochs": 20, "batch": 50, "lr": 0.1},
        model={"name": "mlp", "hidden": [32]},
        local={"lr": 0.05, "epochs": 10},
        codec={"name": "dp_sum", "epsilon": 50.0, "delta": 1e-5, "clip": 1.0},
        secure_aggregation={"helpers": 2, "min_clients": min(10, size.clients // 3)},
        filter={**_VOTES, "every": min(_EVERY, rounds)},
        server={"weights": "equal", "evaluate_every": rounds},
    )
    directions = {"project": size.wide, "directions": "strongest"} if source == "cifar10" else {}
    return {**tree, "features": {**directions, **(frozen if source == "cifar10" else {})}}
