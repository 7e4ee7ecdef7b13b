"""The plan of an estimator: the caller's parameters, and defaults that suit numeric rows."""

from __future__ import annotations

import dataclasses
from typing import Any

from tacit import plan as plans
from tacit.models.estimators.errors import EstimatorValueError
from tacit.plan import Plan

Tree = dict[str, Any]


def build_plan(asked: Tree, *, seed: int, clients: int, hashed: bool) -> Plan:
    """Build and check the plan for `FederatedClassifier`'s parameters; `hashed` says that rows are
    sparse.

    Sparse rows are words, and take a preset's settings for words. Full rows are a table whose
    numbers are not scaled: each client's update is one step over all its rows, clipped to L2 norm
    1, and the server has momentum. Its rates were chosen on held-out train rows of Newsgroups, IMDB
    and scikit-learn's small tables.
    """
    promise = {key: asked[key] for key in ("epsilon", "delta") if asked[key] is not None}
    tree: Tree = {
        "name": "estimator",
        "seed": seed,
        "privacy": {"preset": asked["privacy"], "clients": clients, **promise},
        "data": {"source": plans.GIVEN, "partition": "client", "clients": clients},
        "features": {"text": "binary", "numeric": "raw"},
        "model": _convert_table(asked["model"]),
        "server": {},
    }
    if asked["codec"] is not None:
        tree["codec"] = _convert_table(asked["codec"])
    if not (
        hashed
        and asked["privacy"] in ("private", "no_trust")
        and tree["model"]["name"] == "logistic"
    ):
        _suit_numbers(tree, hashed)
    for key, named in (("rounds", "rounds"), ("learning_rate", "lr")):
        if asked[key] is not None:
            tree["server"][named] = asked[key]
    tree["server"]["evaluate_every"] = (
        1  # there are no test rows; a preset's interval might exceed the rounds
    )
    return plans.parse(tree, where="FederatedClassifier")


def _suit_numbers(tree: Tree, hashed: bool) -> None:
    tree["features"] |= {"row_norm": 1.0 if hashed else None, "constant": 0.0}
    tree["local"] = {"optimizer": "sgd", "lr": 1.0, "epochs": 1, "batches": 1, "row_scale": "mean"}
    tree["server"] = {
        "rounds": 40,
        "optimizer": "momentum",
        "momentum": 0.9,
        "lr": 10.0 if hashed else 0.5,
        "soften": 0.0,
    }
    if tree["model"].get("name") == "logistic":
        tree["model"] = {"bias": True, "start": "zero", **tree["model"]}


def _convert_table(given: Any) -> Tree:
    """Convert a plan table to a dict: it is given as a name, or as one of `tacit`'s classes."""
    if isinstance(given, str):
        return {"name": given}
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        return {key: value for key, value in dataclasses.asdict(given).items() if value is not None}
    raise EstimatorValueError(
        f"FederatedClassifier: {given!r} is neither a name such as 'logistic' or 'dp_sum' nor a"
        " table such as tacit.MLP(hidden=[50])"
    )
