"""The policy as a form: a field for each key, and the changed keys written into the file's own text, with
its comments and order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import tomlkit

from tacit.plan.kinds import list_fields
from tacit.privacy.policy import Policy

FieldKind = Literal["choice", "flag", "number", "list"]
_FIRST = (
    "approve",
    "limits.max_epsilon_per_run",
    "limits.max_epsilon_lifetime",
    "allow.trust_server",
    "allow.models",
    "allow.codecs",
    "columns.label",
    "columns.numeric",
    "columns.categorical",
    "columns.text",
)
"""Keys that most owners set; the form shows the others behind a fold."""
_ABSENT_IF_EMPTY = ("plans.hashes",)
"""Lists that restrict nothing if they are absent, and allow nothing if they are empty."""
_TITLES = {
    "": "Approval",
    "plans": "Plans",
    "allow": "What a plan may contain",
    "columns": "Columns that a plan may use",
    "limits": "Limits",
    "measures": "Accuracy on held-out rows",
    "share": "Rows that may be released",
}


@dataclass(frozen=True, kw_only=True)
class PolicyField:
    """A key of the policy: its name with the table, its value as text, and its meaning."""

    name: str
    kind: FieldKind
    value: str
    choices: tuple[str, ...] = ()
    meaning: str = ""

    @property
    def key(self) -> str:
        """The key without its table."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, kw_only=True)
class PolicyTable:
    """Fields of one table of the policy."""

    title: str
    fields: tuple[PolicyField, ...]


def list_policy_fields(policy: Policy) -> list[PolicyField]:
    """All keys of a policy but its tables by column; [share] only if the policy has it."""
    return list(_list_fields("", policy))


def split_form(found: list[PolicyField]) -> tuple[list[PolicyField], list[PolicyTable]]:
    """The fields that most owners set, in their order, and the others by table."""
    by_name = {one.name: one for one in found}
    first = [by_name[name] for name in _FIRST]
    rest: dict[str, list[PolicyField]] = {}
    for one in found:
        if one.name not in _FIRST:
            rest.setdefault(one.name.rpartition(".")[0], []).append(one)
    tables = [PolicyTable(title=_TITLES[name], fields=tuple(known)) for name, known in rest.items()]
    return first, tables


def apply_form(text: str, policy: Policy, given: Mapping[str, str]) -> str:
    """The text of a policy file with every field that a form changed; all other text stays."""
    document = tomlkit.parse(text)
    for one in list_policy_fields(policy):
        if one.kind == "flag":
            wanted = "true" if given.get(one.name) else "false"
        elif one.name not in given:
            continue
        else:
            wanted = _normalise(given[one.name])
        if wanted != one.value:
            _write(document, one, wanted)
    return tomlkit.dumps(document)


def _list_fields(table: str, values: Any) -> Iterator[PolicyField]:
    known = list_fields(type(values))
    for field in fields(values):
        value, info = getattr(values, field.name), known[field.name]
        name = f"{table}.{field.name}" if table else field.name
        if is_dataclass(value):
            yield from _list_fields(name, value)
            continue
        kind = _find_kind(info.annotation)
        if kind is not None:
            yield PolicyField(
                name=name,
                kind=kind,
                value=_format(value),
                choices=get_args(info.annotation) if kind == "choice" else (),
                meaning=" ".join((info.description or "").replace("`", "").split()),
            )


def _find_kind(annotation: Any) -> FieldKind | None:
    """How a key is edited; None for tables, which are edited in the file."""
    if annotation is bool:
        return "flag"
    if get_origin(annotation) is Literal:
        return "choice"
    kinds = [one for one in get_args(annotation) if one is not NoneType]
    if get_origin(annotation) is tuple or any(get_origin(one) is tuple for one in kinds):
        return "list"
    if any(is_dataclass(one) for one in kinds) or get_origin(annotation) is dict:
        return None
    return "number"


def _format(value: Any) -> str:
    """A value as its field shows it; a list has one entry per line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "\n".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _normalise(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line)


def _write(document: tomlkit.TOMLDocument, field: PolicyField, text: str) -> None:
    """Write a key, or remove it where an empty field means its default."""
    table, _, key = field.name.rpartition(".")
    place: Any = document
    if table:
        if table not in document:
            document[table] = tomlkit.table()
        place = document[table]
    if text:
        place[key] = _parse(field.kind, text)
    elif field.kind == "list" and field.name not in _ABSENT_IF_EMPTY:
        place[key] = []
    else:
        place.pop(key, None)


def _parse(kind: FieldKind, text: str) -> Any:
    """A field's text as a value; what is no number stays text, and the policy's validation says so."""
    match kind:
        case "flag":
            return text == "true"
        case "list":
            return text.splitlines()
        case "choice":
            return text
        case "number":
            for convert in (int, float):
                try:
                    return convert(text)
                except ValueError:
                    continue
            return text
