"""The pages of all plan keys, written from the tables themselves."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from tacit.plan.kinds import OWN, OrOwn, Setting, find_column_table, get_tag, list_fields, tables_in
from tacit.plan.plan import Plan
from tacit.plan.tables.rows.schema.column import Cell

_HEAD = """\
# The plan

A plan is one TOML file. `tacit init` writes one with comments, and `tacit init --from my.csv` writes one for your own table.
`tacit check plan.toml` says whether the plan can run. If a file of rows exists, it reads the file to count the clients;
`--no-data` skips this.

An omitted key has its default. Unknown keys, values of the wrong type and contradictory settings are refused in one message,
before any data is read. `-o table.key=value` changes a key for one run, for example `tacit run plan.toml -o server.rounds=40`.
`-o table.key=none` removes a key from the plan (`-o data.limit=none`), unless `none` is one of the key's values.

An editor can complete keys and show their meaning as you type. `tacit plan schema > plan.schema.json` writes the JSON Schema
of plans. The first line `#:schema ./plan.schema.json` of a plan refers to it (Taplo; Even Better TOML in VS Code).

In Python each table is a dataclass: `tacit.Plan(name="mine", server=tacit.Server(rounds=40))`. If a `name` selects
the keys of a table, each choice is a class of its own: `tacit.Plan(codec=tacit.RR(epsilon=1.0, clip=0.01))` (epsilon per
bit). `plan.with_settings("privacy.epsilon=1", "data.clients=500")` makes another plan from a plan and recomputes the settings of
its preset. `dataclasses.replace` changes one table only. If the settings were then computed for another epsilon or number of
clients, the plan is refused.

## Tables

"""
_COLUMN = "COLUMN"
"""Stands for the name of a column in a key."""
_LINK = re.compile(r"\]\((?=[a-z]+/)")
"""The start of a link in a description; descriptions name pages from the folder `docs`."""


def write_pages() -> dict[str, str]:
    """Write the text of each page by its file name: `index.md` with the keys before any table, and
    a page for each table. Raise ValueError if a key has no description.
    """
    pages, tables = dict[str, str](), list[str]()
    for name, field in list_fields(Plan).items():
        if sections := list(_sections(name, field, level=1)):
            pages[f"{name}.md"] = "\n".join(sections)
            tables.append(f"- [`[{name}]`]({name}.md): {_describe_table(name, field)}")
    top = "\n".join(["\n## Keys before any table\n", *_keys_of(Plan, "", level=3)])
    pages["index.md"] = _HEAD + "\n".join(tables) + "\n" + top
    return {name: _LINK.sub("](../../", text) for name, text in pages.items()}


def keys() -> list[str]:
    """List every key of a plan, with its tables."""
    return list(dict.fromkeys(_keys(Plan, "")))


def _keys(table: Any, path: str) -> Iterator[str]:
    for name, field in list_fields(table).items():
        inner = tables_in(field.annotation)
        for one in inner.values():
            yield from _keys(one, f"{path}{name}.")
        each = find_column_table(field.annotation)
        if each is not None:
            yield from _keys(each, f"{path}{name}.{_COLUMN}.")
        elif not inner:
            yield f"{path}{name}"


def _sections(path: str, field: FieldInfo, level: int) -> Iterator[str]:
    """Yield the text of a table and of the tables inside it; nothing for a plain key."""
    inner, each = tables_in(field.annotation), find_column_table(field.annotation)
    if each is not None:
        yield f"{'#' * level} `[{path}.{_COLUMN}]`\n\n{_first_words(each)}\n"
        yield from _keys_of(each, f"{path}.{_COLUMN}.", level + 1)
    if not inner:
        return
    yield f"{'#' * level} `[{path}]`\n"
    if "" in inner:
        yield f"{_first_words(inner[''])}\n"
        yield from _keys_of(inner[""], f"{path}.", level + 1)
        for name, below in list_fields(inner[""]).items():
            yield from _sections(f"{path}.{name}", below, level + 1)
        return
    yield f"{_meaning(path, field)} `{path}.{get_tag(field.annotation)}` selects its keys:\n"
    for choice, one in inner.items():
        yield (
            f"{'#' * (level + 1)} `{choice}`\n\n{_first_words(one)} In Python:"
            f" `tacit.{one.__name__}`.\n"
        )
        yield from _keys_of(one, f"{path}.", level + 2)


def _describe_table(path: str, field: FieldInfo) -> str:
    inner = tables_in(field.annotation)
    return _first_words(inner[""]) if "" in inner else _meaning(path, field)


def _first_words(table: Any) -> str:
    return inspect.cleandoc(table.__doc__).partition("\n\n")[0].replace("\n", " ")


def _keys_of(table: Any, path: str, level: int) -> Iterator[str]:
    """Yield a section for each key of a table that is not itself a table."""
    for name, field in list_fields(table).items():
        if tables_in(field.annotation) or _selects(name, field):
            continue
        takes = _takes(field.annotation, field.metadata)
        if any(isinstance(one, OrOwn) for one in field.metadata):
            takes += f", or `{OWN}`"
        yield (
            f"{'#' * level} `{path}{name}`\n\n{takes[0].upper()}{takes[1:]}. {_default(field)}.\n\n"
            f"{_meaning(path + name, field)}\n"
        )


def _selects(name: str, field: FieldInfo) -> bool:
    """Whether a key has one possible value, which selects its table."""
    return name in ("name", "kind") and get_origin(field.annotation) is Literal


def _meaning(key: str, field: FieldInfo) -> str:
    if not field.description:
        raise ValueError(f"{key} has no description; write one as a string below the field")
    return " ".join(field.description.split())


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "Required"
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "No default"
    return f"Default: `{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _takes(kind: Any, limits: Sequence[Any] = ()) -> str:
    """Describe the values that a key accepts."""
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
            else "table of column = [minimum, maximum]"
        )
    if origin is Literal:
        words = ", ".join(f'`"{word}"`' for word in parts)
        return f"one of {words}" if len(parts) > 1 else words
    if origin is tuple:
        return f"list of {_takes(parts[0]).removeprefix('one of ')}"
    if origin is Annotated:
        return _takes(parts[0], parts[1:])
    word = {int: "integer", float: "number", str: "text", bool: "`true` or `false`"}[kind]
    return " ".join([word, *filter(None, map(_limit, limits))])


def _limit(bound: object) -> str:
    words = {Ge: ("from", "ge"), Gt: ("above", "gt"), Le: ("to", "le"), Lt: ("below", "lt")}
    word, name = words.get(type(bound), ("", ""))
    return f"{word} {getattr(bound, name):,}" if word else ""
