"""The plan of `tacit.train`: columns guessed from the rows, other settings as given or default."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

from tacit import data
from tacit import plan as plans
from tacit.data.input_rows import from_input_rows
from tacit.data.read import read_file
from tacit.errors import DataError, PlanError
from tacit.plan import Features, Plan, Privacy
from tacit.simulation.advice.starter import make_starter

Tree = dict[str, Any]


def build_module_plan(
    module: object,
    rows: object,
    *,
    label: str | None,
    clients: str | int | None,
    privacy: Privacy | str | float,
    features: Features | None,
    rounds: int | None,
) -> Plan:
    """Build the plan for a module on a table; the run is named after the module's class."""
    tree: Tree = tomllib.loads(make_starter(rows, data.StarterRequest(label=label)).text)
    kind = type(module)
    tree |= {
        "name": _make_identifier(kind.__name__),
        "model": {
            "name": f"{_make_identifier(kind.__module__, '.')}:{_make_identifier(kind.__name__)}"
        },
    }
    tree["baselines"] = []
    tree["privacy"] = _build_privacy(privacy)
    _set_partition(tree, clients)
    if tree["privacy"].get("preset") != "none" and tree["data"].get("partition") == "client":
        tree["privacy"].setdefault(
            "clients", _count_owners(rows, tree["data"]["columns"]["client"])
        )
    if features is not None:
        if not isinstance(features, Features):
            raise PlanError(
                f"train(features=…) must be a tacit.Features, got {type(features).__name__}; leave it"
                " out for defaults"
            )
        tree["features"] = {
            key: value for key, value in dataclasses.asdict(features).items() if value is not None
        }
    if rounds is not None:
        tree["server"] = {"rounds": rounds}
    return plans.parse(tree, where=f"train({kind.__name__})")


def _build_privacy(privacy: Privacy | str | float) -> Tree:
    """Privacy table from a preset's name, an epsilon per run, or a Privacy."""
    if isinstance(privacy, Privacy):
        return {
            key: value for key, value in dataclasses.asdict(privacy).items() if value is not None
        }
    return (
        {"preset": privacy}
        if isinstance(privacy, str)
        else {"preset": "private", "epsilon": privacy}
    )


def _set_partition(tree: Tree, clients: str | int | None) -> None:
    """Set the partition from `clients`: a column with owners, or a number of random clients."""
    table, columns = tree["data"], tree["data"]["columns"]
    if isinstance(clients, str):
        for role, names in list(columns.items()):
            columns[role] = (
                [name for name in names if name != clients] if isinstance(names, list) else names
            )
        table["columns"] = {
            **{role: names for role, names in columns.items() if names},
            "client": clients,
        }
        table["partition"] = "client"
        table.pop("clients", None)
    elif clients is not None:
        columns.pop("client", None)
        table |= {"partition": "iid", "clients": clients}


def _count_owners(rows: object, column: str) -> int:
    frame, _ = read_file(str(rows)) if isinstance(rows, str | Path) else from_input_rows(rows)
    if column not in frame.columns:
        raise DataError(
            f"train(clients={column!r}) is not a column of the rows; name one of"
            f" {', '.join(frame.columns)}"
        )
    return frame[column].n_unique()


def _make_identifier(name: str, also: str = "") -> str:
    return re.sub(rf"[^\w{also}]+", "_", name)[:60]
