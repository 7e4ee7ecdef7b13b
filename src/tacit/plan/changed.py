"""Change settings of a plan as `-o` does, and recompute the settings of its preset."""

from __future__ import annotations

import copy
from typing import Any

from tacit.plan import toml
from tacit.plan.kinds import list_fields
from tacit.plan.load import drop_foreign, dump, list_defaults, parse
from tacit.plan.plan import Plan
from tacit.plan.presets import privacy

Tree = dict[str, Any]


def with_settings(plan: Plan, settings: list[str]) -> Plan:
    """The checked plan with `table.key=value` settings; settings of its preset are recomputed.

    A setting equal to the preset's value counts as computed by the preset. How rows are read stays
    as it was where the preset computes nothing for the new settings.
    """
    tree = find_own_settings(plan)
    if plan.privacy is None and plan.codec == Plan().codec and _sets_privacy(settings):
        del tree["codec"]  # the default one, instead of which the preset computes its own
    for setting in settings:
        toml.override(tree, setting)
        drop_foreign(tree, setting, settings)
    _keep_reading(tree, plan)
    return parse(tree)


def _keep_reading(tree: Tree, plan: Plan) -> None:
    """Set how numbers and texts are read as in `plan`, where neither the settings nor the preset
    say it.
    """
    own, filled = tree.setdefault("features", {}), privacy.fill_in(tree).get("features", {})
    before = dump(plan)["features"]
    kept = ["numeric"] if own.get("quantise") is None else []
    if not _is_worded(tree) and {"text", "list"}.isdisjoint({*own, *filled}):
        kept += ["text", "list"]
    own |= {key: before[key] for key in kept if key in before and key not in {*own, *filled}}


def _sets_privacy(settings: list[str]) -> bool:
    return any(setting.strip().startswith("privacy.") for setting in settings)


def _is_worded(tree: Tree) -> bool:
    return tree.get("model", {}).get("name") in ("bilstm", "encoder")


def find_own_settings(plan: Plan) -> Tree:
    """A plan's tables without computed settings and defaults; parsed again they give the same
    plan.
    """
    tree = dump(plan)
    filled, default = privacy.fill_in(tree), list_defaults(plan)
    for table in (
        "model",
        "codec",
    ):  # a value that another model or codec has by default is none of this one's
        kinds = list_fields(type(getattr(plan, table)))
        default[table] = {
            key: default[table][key]
            for key, field in kinds.items()
            if not field.is_required() and key != "name"
        }
    own: Tree = {}
    for name, value in tree.items():
        if name == "privacy":
            own[name] = _drop_count(plan, value)
        elif isinstance(value, dict):
            own[name] = _select_explicit(value, filled.get(name, {}), default.get(name, {}))
        elif value != default.get(name):
            own[name] = value
    return copy.deepcopy(own)


def _select_explicit(table: Tree, filled: Tree, default: Tree) -> Tree:
    """The keys of a table that were set explicitly: neither computed by a preset nor default."""
    kept = {
        key: value
        for key, value in table.items()
        if value != (filled[key] if key in filled else default.get(key))
    }
    if table.get("name") == filled.get("name"):
        kept.pop("name", None)
    return kept


def _drop_count(plan: Plan, table: Tree) -> Tree:
    """[privacy] without the number of clients, if that was taken from [data]."""
    return {
        key: value
        for key, value in table.items()
        if key != "clients" or plan.data.partition == "client"
    }
