"""Another plan from a plan: settings changed as `-o` changes them, and what a preset fills in made
anew for them.
"""

from __future__ import annotations

import copy
from typing import Any

from tacit.plan import toml
from tacit.plan.kinds import fields_of
from tacit.plan.load import drop_foreign, dump, parse, untouched
from tacit.plan.plan import Plan
from tacit.plan.presets import privacy

Tree = dict[str, Any]


def with_settings(plan: Plan, settings: list[str]) -> Plan:
    """The plan with `table.key=value` settings, checked; what its preset filled in follows from the
    new ones.

    A setting that is just as the preset would have filled it in counts as filled in. Raises
    PlanError as `load` does.
    """
    tree = find_own_settings(plan)
    for setting in settings:
        toml.override(tree, setting)
        drop_foreign(tree, setting, settings)
    return parse(tree)


def find_own_settings(plan: Plan) -> Tree:
    """A plan's tables without what its preset filled in and without defaults; parsed again they
    give the same plan.
    """
    tree = dump(plan)
    filled, default = privacy.fill_in(tree), untouched(plan)
    for table in (
        "model",
        "codec",
    ):  # a value that another model or codec has by default is none of this one's
        kinds = fields_of(type(getattr(plan, table)))
        default[table] = {
            key: default[table][key]
            for key, field in kinds.items()
            if not field.is_required() and key != "name"
        }
    own: Tree = {}
    for name, value in tree.items():
        if name == "privacy":
            own[name] = _without_count(plan, value)
        elif isinstance(value, dict):
            own[name] = _kept(value, filled.get(name, {}), default.get(name, {}))
        elif value != default.get(name):
            own[name] = value
    return copy.deepcopy(own)


def _kept(table: Tree, filled: Tree, default: Tree) -> Tree:
    """The keys of a table that were set by somebody: neither as filled in nor, where nothing is
    filled in, as by default.
    """
    told = {
        key: value
        for key, value in table.items()
        if value != (filled[key] if key in filled else default.get(key))
    }
    if table.get("name") == filled.get("name"):
        told.pop("name", None)
    return told


def _without_count(plan: Plan, table: Tree) -> Tree:
    """The promise without the number of clients that was taken from [data]."""
    return {
        key: value
        for key, value in table.items()
        if key != "clients" or plan.data.partition == "client"
    }
