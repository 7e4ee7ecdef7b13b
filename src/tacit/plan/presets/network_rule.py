"""The training settings of the `private` preset for networks: MLPs and modules of your own.

As for logistic regression, a client sends one gradient times the square root of its rows, clipped to
L2 norm 1, and the server applies momentum. The sum of all steps, in units of the clip, decides:
below 100 networks stay near their initial weights, from 1,000 on noise decides. It was chosen on
validation rows of made-up readings (400 and 2,000 people), Spambase and Cardio, for a linear layer
on squares and MLPs with one and two hidden layers, at epsilon 1 and 8 per run. `tacit plan tune`
finds settings for one network and table.
"""

from __future__ import annotations

from typing import Any

from tacit.plan.presets.private_rule import inputs_of

Tree = dict[str, Any]
_PATH = 250.0
_ROUNDS, _MOMENTUM, _LARGEST_RATE = 30, 0.9, 1.0
_LOCAL: Tree = {"optimizer": "sgd", "lr": 1.0, "epochs": 1, "batches": 1, "row_scale": "root"}
_SERVER = ("optimizer", "momentum", "lr")
_WORDED = ("bilstm", "encoder")


def fill_in_network(tree: Tree) -> Tree:
    """The training settings and the scale of numbers for a network; empty for networks with word
    embeddings or private parameters.

    They suit each other: a plan that sets a key of [local] or the server's optimiser gets none of
    them.
    """
    if _table(tree, "model").get("name") in _WORDED or _table(tree, "private").get("parameters"):
        return {}
    if tree.get("regime", "federated") != "federated":
        return {}
    rounds = _table(tree, "server").get("rounds", _ROUNDS)
    rounds = rounds if isinstance(rounds, int) and rounds > 0 else _ROUNDS
    rate = round(min(_LARGEST_RATE, _PATH * (1 - _MOMENTUM) / rounds), 4)
    step: Tree = {"optimizer": "momentum", "momentum": _MOMENTUM, "lr": rate}
    if _sets_own(tree, "local", _LOCAL) or _sets_own(tree, "server", step, _SERVER):
        return {}
    every = min(10, rounds)
    return {
        **_scale_numbers(tree),
        "local": _LOCAL,
        "server": {"rounds": _ROUNDS, **step, "evaluate_every": every},
    }


def _scale_numbers(tree: Tree) -> Tree:
    """Numbers of a table are scaled by their 1st and 99th percentiles."""
    if inputs_of(tree).text or _table(tree, "features").get("quantise") is not None:
        return {}
    return {"features": {"numeric": "robust"}}


def _sets_own(tree: Tree, name: str, computed: Tree, keys: tuple[str, ...] = ()) -> bool:
    """Whether a plan sets a key of a table otherwise than by default or as computed here."""
    from tacit.plan.kinds import list_fields
    from tacit.plan.tables.local import Local
    from tacit.plan.tables.server import Server

    table, fields = _table(tree, name), list_fields(Local if name == "local" else Server)
    return any(
        value not in (None, computed.get(key), fields[key].default)
        for key, value in table.items()
        if key in fields and (not keys or key in keys)
    )


def _table(tree: Tree, name: str) -> Tree:
    found = tree.get(name, {})
    return found if isinstance(found, dict) else {}
