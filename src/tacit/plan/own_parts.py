"""User-defined parts that a plan names, in any of its tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from tacit import extensions
from tacit.extensions import Reference
from tacit.plan.plan import Plan


def find_own_parts(plan: Plan) -> dict[str, Reference]:
    """Find every reference in a plan, by the key that holds it."""
    return dict(_references(plan, ""))


def pin_own_parts(plan: Plan) -> Plan:
    """Pin every user-defined part to the hash of its code, unless it is pinned already."""
    pinned: Plan = _replace(plan, extensions.pin)
    return pinned


def _references(value: Any, path: str) -> Iterator[tuple[str, Reference]]:
    if isinstance(value, Reference):
        yield path, value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            below = f"{path}.{field.name}" if path else field.name
            yield from _references(getattr(value, field.name), below)


def _replace(value: Any, change: Callable[[Reference], Reference]) -> Any:
    if isinstance(value, Reference):
        return change(value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    before = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    after = {name: _replace(one, change) for name, one in before.items()}
    changed = {name: one for name, one in after.items() if one is not before[name]}
    return dataclasses.replace(value, **changed) if changed else value
