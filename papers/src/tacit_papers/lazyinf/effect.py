"""The value of filtering: the model after some rounds, next to robust aggregation rules at the
server.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.reproduction import Scale
from tacit_papers.lazyinf.settings import SIZES, VOTE, Tree, plan, train_trial, votes
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

_ATTACKS: dict[str, Tree] = {
    "sign flip": {"kind": "sign_flip"},
    "ALIE": {"kind": "alie"},
    "IPM": {"kind": "ipm"},
    "mimic": {"kind": "mimic"},
    "free rider": {"kind": "free_rider"},
    "random labels from the middle on": {"kind": "random_labels"},
    "backdoor": {"kind": "backdoor", "columns": [0], "value": 10.0},
}
LABEL_KINDS = ("random_labels", "flipped_labels")
_HARMFUL = "flipped_labels"
_LABELS = {"random_labels": 0.9, "flipped_labels": 1.0}
_SHARE = 0.4
"""Share of corrupted clients at which the loss that a defence recovers is measured."""
_FILTERS: dict[str, Tree] = {
    "filter, votes in the clear": votes(),
    "filter, votes at 0.5": votes(vote_epsilon=VOTE, memory=1.0),
    "filter, 5 testers, 8 per round": votes(vote_epsilon=1.6, testers=5, memory=1.0),
}


def peers(share: float) -> dict[str, Tree]:
    """The rules as `[server]` tables; those that need the share of bad clients get the true one,
    below a half.
    """
    told = {"assumed_bad": min(max(share, 0.05), 0.45)}
    return {
        "fltrust": {"rule": "fltrust"},
        "zeno": {"rule": "zeno", **told},
        "multi_krum": {"rule": "multi_krum", **told},
        "mix, trimmed_mean": {"rule": "trimmed_mean", "mix": True, **told},
        "median": {"rule": "median"},
        "geometric_median": {"rule": "geometric_median"},
        "centred_clipping": {"rule": "centred_clipping"},
        "norm_bound": {"rule": "norm_bound"},
        "foolsgold": {"rule": "foolsgold"},
    }


def model(scale: Scale) -> PaperTable:
    """Accuracy after the last round, by kind of label corruption and number of corrupted clients."""
    cells: list[PaperCell] = []
    for share in SIZES[scale].shares:
        for kind in LABEL_KINDS if share else LABEL_KINDS[:1]:
            column = f"{share:.0%} {kind.replace('_', ' ')}" if share else "nobody corrupted"
            arms = {
                "no filter": _run(scale, kind, share),
                "only honest clients": _oracle(scale, share),
            }
            arms |= {
                name: _run(scale, kind, share, filter=table) for name, table in _FILTERS.items()
            }
            arms |= {
                name: _run(scale, kind, share, server=table) for name, table in peers(share).items()
            }
            for row, trial in arms.items():
                cells.append(
                    PaperCell(row=row, column=column, paper=None, trial=trial, metric="accuracy")
                )
    note = (
        "CIFAR-10 as frozen features, linear head; enough local epochs that bad labels are"
        " learned. Random labels, the paper's corruption, hardly harm such a model; flipped ones"
        " do. Only honest clients: the remaining clients, none of them corrupted. fltrust and zeno"
        " have the server's rows; rules that take a share of bad clients are given the true one, at"
        " most .45."
    )
    title = f"Accuracy after {SIZES[scale].rounds} rounds"
    return PaperTable(name="model", title=title, cells=tuple(cells), note=note)


def recovered(scale: Scale) -> PaperTable:
    """The share of the loss between clean and unfiltered training that a defence recovers with 40 %
    corrupted clients.
    """
    cells = []
    for kind in LABEL_KINDS:
        none, clean = _repeat(scale, kind, _SHARE), _repeat(scale, kind, 0.0)
        rows = {
            name: _repeat(scale, kind, _SHARE, filter=table) for name, table in _FILTERS.items()
        }
        rivals = {
            name: _run(scale, kind, _SHARE, server=table) for name, table in peers(_SHARE).items()
        }
        words, first = kind.replace("_", " "), next(iter(rows.values()))
        cells.append(
            PaperCell(
                row="no filter",
                column=f"loss, {words}",
                paper=None,
                trial=clean,
                minus=none,
                metric="accuracy",
            )
        )
        cells += [
            PaperCell(
                row=row, column=gain_column(kind), paper=None, trial=trial, minus=none, metric="accuracy"
            )
            for row, trial in rows.items()
        ]  # fmt: skip
        shares = {**rows, **rivals} if kind == _HARMFUL else {}  # of a loss that is large enough
        for row, trial in shares.items():
            cells.append(
                 PaperCell( row=row, column=f"share made good, {words}", paper=None, trial=trial,
                minus=replace(none, seeds=trial.seeds), of=replace(clean, seeds=trial.seeds), metric="accuracy", )
            )  # fmt: skip
        for row, trial in rivals.items():
            cells.append(
                PaperCell(
                    row=row,
                    column=f"filter better by, {words}",
                    paper=None,
                    trial=replace(first, seeds=trial.seeds),
                    minus=trial,
                    metric="accuracy",
                )
            )
    note = (
        "As in the previous table, at 40 %. Random labels lose too little for shares of it. The filter"
        " is the one with votes in the clear; fltrust"
        " and zeno have clean rows, the other rules have none."
    )
    return PaperTable(
        name="recovered",
        title="What a defence recovers with 40 % corrupted clients",
        cells=tuple(cells),
        note=note,
    )


def gain_column(kind: str) -> str:
    """The column of what a filter gains over no filter."""
    return f"gain, {kind.replace('_', ' ')}"


def attacks(scale: Scale) -> PaperTable:
    """Accuracy under attacks of the literature, and success rate of a backdoor."""
    size, cells = SIZES[scale], list[PaperCell]()
    for name, attack in _ATTACKS.items():
        corrupt = {"clients": 0.3, **attack}
        if "middle" in name:
            corrupt["from_round"] = max(2, size.rounds // 2)
        arms = {"no filter": _build_attack_trial(scale, corrupt)}
        arms |= {
            row: _build_attack_trial(scale, corrupt, filter=table)
            for row, table in _FILTERS.items()
        }
        arms |= {
            row: _build_attack_trial(scale, corrupt, server=table)
            for row, table in peers(0.3).items()
        }
        for row, trial in arms.items():
            cells.append(
                PaperCell(row=row, column=name, paper=None, trial=trial, metric="accuracy")
            )
            if name == "backdoor":
                cells.append(
                    PaperCell(
                        row=row,
                        column="backdoor works",
                        paper=None,
                        trial=trial,
                        metric="attack_success",
                    )
                )
    note = (
        "CIFAR-10, 30 % attackers; all columns except the backdoor's last one are accuracies on"
        " clean test rows."
    )
    return PaperTable(
        name="attacks", title=f"Attacks, after {size.rounds} rounds", cells=tuple(cells), note=note
    )


def _run(scale: Scale, kind: str, share: float, **tables: Tree) -> PaperTrial:
    corrupt = {"kind": kind, "clients": share, "labels": _LABELS[kind]} if share else {}
    return train_trial(_long(scale, corrupt, **tables), SIZES[scale].model_seeds)


def _repeat(scale: Scale, kind: str, share: float, **tables: Tree) -> PaperTrial:
    """As `_run`, with more seeds for random labels."""
    trial = _run(scale, kind, share, **tables)
    return replace(trial, seeds=SIZES[scale].harm_seeds) if kind == LABEL_KINDS[0] else trial


def _build_attack_trial(scale: Scale, corrupt: Tree, **tables: Tree) -> PaperTrial:
    return train_trial(_long(scale, corrupt, **tables), SIZES[scale].attack_seeds)


def _long(scale: Scale, corrupt: Tree, **tables: Tree) -> Tree:
    """A plan with more directions and longer local training, so that wrong labels are learned."""
    size = SIZES[scale]
    server = {"evaluate_every": size.rounds, **tables.pop("server", {})}
    features = {"project": size.wide, "directions": "strongest"}
    return plan(
        scale,
        "cifar10",
        size.rounds,
        corrupt,
        server=server,
        features=features,
        local={"lr": 0.05, "epochs": 10},
        **tables,
    )


def _oracle(scale: Scale, share: float) -> PaperTrial:
    """The trial of a perfect filter: only the honest clients, each with as many rows."""
    return _run(
        scale, LABEL_KINDS[0], 0.0, data={"clients": round((1 - share) * SIZES[scale].clients)}
    )
