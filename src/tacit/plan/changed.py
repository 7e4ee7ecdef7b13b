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

    A setting equal to the preset's value counts as computed by the preset.
    """
    tree = find_own_settings(plan)
    for setting in settings:
        toml.override(tree, setting)
        drop_foreign(tree, setting, settings)
    return parse(tree)


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
