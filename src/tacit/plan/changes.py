"""A plan as the settings that differ from their defaults: what sites are sent, so that an older site
refuses only keys that the plan uses.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from tacit.errors import PlanError
from tacit.plan import toml
from tacit.plan.kinds import list_fields
from tacit.plan.load import dump, parse
from tacit.plan.plan import Plan

_TAGS = ("name", "kind")
"""Keys that say which codec, model or attack a table describes."""


def to_short_toml(plan: Plan) -> str:
    """The plan as TOML text without the settings that have their defaults. Reading it gives the same
    plan.

    Defaults that a preset would replace by computed values are written too.
    """
    tree, whole = _list_changes(plan), dump(plan)
    try:
        read = parse(tree)
        if read != plan:
            _add_differing(tree, whole, dump(read))
            read = parse(tree)
    except PlanError:
        return toml.write(whole)
    return toml.write(tree if read == plan else whole)


def _add_differing(tree: dict[str, Any], wanted: dict[str, Any], found: dict[str, Any]) -> None:
    """Add the settings that were read otherwise than wanted."""
    for key, value in wanted.items():
        if found.get(key) == value:
            continue
        if isinstance(value, dict) and isinstance(found.get(key), dict):
            _add_differing(tree.setdefault(key, {}), value, found[key])
        else:
            tree[key] = value


def _list_changes(table: Any) -> dict[str, Any]:
    """Settings of a table that differ from their defaults. The name of a codec, model or attack is
    always one of them, and a table that is absent by default keeps one key at least.
    """
    found: dict[str, Any] = {}
    for key, field in list_fields(type(table)).items():
        value = getattr(table, key)
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        if value is None:
            continue
        if dataclasses.is_dataclass(value):
            inner = _list_changes(value)
            if not inner and default is None:
                inner = dict(list(_write_out(value).items())[:1])
            if inner:
                found[key] = inner
        elif field.is_required() or value != default or (key in _TAGS and type(table) is not Plan):
            found[key] = _plain(value)
    return found


def _write_out(table: Any) -> dict[str, Any]:
    fields = {key: getattr(table, key) for key in list_fields(type(table))}
    return {key: _plain(value) for key, value in fields.items() if value is not None}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):  # the table of one column
        return _list_changes(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if inner is not None}
    return list(value) if isinstance(value, tuple) else value
