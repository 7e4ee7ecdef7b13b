"""The page of all plan keys, written from the tables themselves: python -m tacit.plan.reference >
docs/plan.md.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from tacit.plan.kinds import (
    OWN,
    OrOwn,
    Setting,
    fields_of,
    find_column_table,
    tables_in,
    tag_of,
)
from tacit.plan.plan import Plan
from tacit.plan.tables.schema.column import Cell

_HEAD = """\
# The plan

A plan is one TOML file. `tacit init` writes one with comments, `tacit init --from my.csv` one for a table of your own,
and `tacit check plan.toml` says whether it can run; it reads a file of rows, if it is there, to count the clients there can be
(`--no-data` does not). A key that is left out has its default; an unknown key, a value of
the wrong type and a combination without meaning are refused, all of them in one message, before any data is read.
Change a key for one run with `-o table.key=value`, for example `tacit run plan.toml -o server.rounds=40`; with `-o table.key=none`
the plan is read as if the key were not in it (`-o data.limit=none`), except where `none` is one of the words the key takes.

An editor can complete keys and show their meaning as you type: `tacit schema > plan.schema.json` writes the JSON Schema
of plans, and `#:schema ./plan.schema.json` as a plan's first line points at it (Taplo; Even Better TOML in VS Code).

In Python each table is a dataclass: `tacit.Plan(name="mine", server=tacit.Server(rounds=40))`. Where a `name` chooses
the table's keys, each choice is a class of its own: `tacit.Plan(codec=tacit.RR(epsilon=1.0, clip=0.01))` (epsilon per
bit). Another plan from a plan is `plan.with_settings("privacy.epsilon=1", "data.clients=500")`: what a preset filled in is made
anew for it. `dataclasses.replace` changes one table only; a plan whose settings were then made for another epsilon or number of
clients is refused.

This page is written by `python -m tacit.plan.reference`.
"""


_COLUMN = "COLUMN"
"""Stands for the name of a column in a key."""


def page() -> str:
    """Return the whole page; raise ValueError if a key has no meaning written beside it."""
    return "\n".join(
        [_HEAD, "## At the top, before any table\n", *_table(Plan, ""), *_inner(Plan, "")]
    )


def keys() -> list[str]:
    """Return every key of a plan, with its tables."""
    return list(dict.fromkeys(_keys(Plan, "")))


def _keys(table: Any, path: str) -> Iterator[str]:
    for name, field in fields_of(table).items():
        inner = tables_in(field.annotation)
        for one in inner.values():
            yield from _keys(one, f"{path}{name}.")
        each = find_column_table(field.annotation)
        if each is not None:
            yield from _keys(each, f"{path}{name}.{_COLUMN}.")
        elif not inner:
            yield f"{path}{name}"


def _inner(table: Any, path: str) -> Iterator[str]:
    """Yield a section for each table inside a table, and one for each choice where a name
    chooses.
    """
    for name, field in fields_of(table).items():
        inner, below = tables_in(field.annotation), f"{path}{name}"
        each = find_column_table(field.annotation)
        if each is not None:
            yield f"## `[{below}.{_COLUMN}]`\n\n{_first_words(each)}\n"
            yield from _table(each, f"{below}.{_COLUMN}.")
        if not inner:
            continue
        yield f"## `[{below}]`\n"
        if "" in inner:
            yield f"{_first_words(inner[''])}\n"
            yield from _table(inner[""], f"{below}.")
            yield from _inner(inner[""], f"{below}.")
            continue
        yield (
            f"{_meaning(below, field)} Its `{tag_of(field.annotation)}` says which keys it takes:\n"
        )
        for choice, one in inner.items():
            yield f"### `{choice}`\n\n{_first_words(one)} In Python: `tacit.{one.__name__}`.\n"
            yield from _table(one, f"{below}.")


def _first_words(table: Any) -> str:
    return inspect.cleandoc(table.__doc__).partition("\n\n")[0].replace("\n", " ")


def _table(table: Any, path: str) -> Iterator[str]:
    yield "| key | takes | default | meaning |\n| --- | --- | --- | --- |"
    for name, field in fields_of(table).items():
        if not tables_in(field.annotation):
            takes = _takes(field.annotation, field.metadata)
            if any(isinstance(one, OrOwn) for one in field.metadata):
                takes += f", or `{OWN}`"
            yield (
                f"| `{path}{name}` | {takes} | {_default(field)} | {_meaning(path + name, field)} |"
            )
    yield ""


def _meaning(key: str, field: FieldInfo) -> str:
    if key.endswith((".name", ".kind")) and get_origin(field.annotation) is Literal:
        return "Chooses this table."
    if not field.description:
        raise ValueError(f"{key} needs a meaning; write it as a string below the field")
    return " ".join(field.description.split())


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "none"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _takes(kind: Any, limits: Sequence[Any] = ()) -> str:
    """Return in words what a key accepts."""
    origin, parts = get_origin(kind), [part for part in get_args(kind) if part is not NoneType]
    if origin in (Union, UnionType):
        return _takes(parts[0], limits)
    if origin is dict and parts[1] == Setting:
        return "table of setting = value"
    if find_column_table(kind) is not None:
        return "a table for each column"
    if origin is dict and parts[0] == Cell:
        return "table of cell = value"
    if origin is dict:
        return (
            "table of column = rule"
            if get_origin(parts[1]) is Annotated
            else "table of column = [least, greatest]"
        )
    if origin is Literal:
        return ", ".join(f'`"{word}"`' for word in parts)
    if origin is tuple:
        return f"list of: {_takes(parts[0])}"
    if origin is Annotated:
        return _takes(parts[0], parts[1:])
    word = {int: "whole number", float: "number", str: "text", bool: "`true`, `false`"}[kind]
    return " ".join([word, *filter(None, map(_limit, limits))])


def _limit(bound: object) -> str:
    words = {Ge: ("from", "ge"), Gt: ("above", "gt"), Le: ("to", "le"), Lt: ("below", "lt")}
    word, name = words.get(type(bound), ("", ""))
    return f"{word} {getattr(bound, name):,}" if word else ""


if __name__ == "__main__":
    print(page(), end="")
