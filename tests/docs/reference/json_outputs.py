"""JSON Schemas of what commands print under `--json`, written from the types in `tacit.cli.outputs`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from tacit.cli.outputs import OUTPUTS, ErrorOutput, Output
from tests.docs.reference.markdown import read_meanings

DRAFT = "https://json-schema.org/draft/2020-12/schema"
WORDS: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}
HEAD = """\
# JSON outputs

With `--json` a command prints exactly one JSON object on stdout when it ends. This folder has a JSON Schema for each output. `schema` in
an output names its schema and version, such as `tacit/run/1`. A new key does not change the version, so ignore keys that you do not know.
A key that is removed or means something else gets a new version.

If the command fails, the object has an `error`, with the schema of its results or with `tacit/error/1`:

```json
{
  "schema": "tacit/error/1",
  "error": {
    "kind": "PlanError",
    "message": "plan.toml: cannot be read (No such file or directory); `tacit init` writes a plan to start from",
    "exit_code": 2
  }
}
```

Results that the command had before it failed stay in the object: `tacit site policy check --json` lists the `refusals`,
`tacit site doctor --json` the `findings`. The paragraph also appears on stderr. An internal error never quotes a cell of data.
[Exit codes](../exit-codes.md) lists the kinds of errors.

| schema | what it is | printed by |
| --- | --- | --- |
| [`tacit/error/1`](error.json) | Why a command failed. | every command |
"""


def write_pages() -> dict[str, str]:
    """A schema per output, and their index."""
    schemas = {name: build_schema(name, output) for name, output in OUTPUTS.items()}
    schemas["error/1"] = build_error_schema()
    pages = {
        f"{name.partition('/')[0]}.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }
    rows = [
        f"| [`tacit/{name}`]({name.partition('/')[0]}.json) | {_describe(output.kind)} |"
        f" {', '.join(f'`tacit {command}`' for command in output.printed_by.split(', '))} |\n"
        for name, output in OUTPUTS.items()
    ]
    return {"index.md": HEAD + "".join(rows), **pages}


def build_schema(name: str, output: Output) -> dict[str, Any]:
    """The JSON Schema of an output. Keys may be missing if there is an `error`."""
    table = _describe_object(output.kind)
    tables = {one.__name__: one for one in [ErrorOutput, *_find_tables(output.kind)]}
    return {
        "$schema": DRAFT,
        "$id": f"tacit/{name}",
        "title": name.partition("/")[0],
        "description": table["description"],
        "type": "object",
        "properties": {
            "schema": {"const": f"tacit/{name}", "description": "Name and version of this schema."},
            **table["properties"],
            "error": {
                "$ref": "#/$defs/ErrorOutput",
                "description": "Why the command failed; missing if it succeeded.",
            },
        },
        "required": ["schema"],
        "if": {"not": {"required": ["error"]}},
        "then": {"required": table["required"]},
        "$defs": {key: _describe_object(one) for key, one in sorted(tables.items())},
    }


def build_error_schema() -> dict[str, Any]:
    """The JSON Schema of the object that a command prints if it fails without a result."""
    return {
        "$schema": DRAFT,
        "$id": "tacit/error/1",
        "title": "error",
        "description": "A command that failed without a result.",
        "type": "object",
        "properties": {
            "schema": {"const": "tacit/error/1", "description": "Name and version of this schema."},
            "error": {"$ref": "#/$defs/ErrorOutput", "description": "Why the command failed."},
        },
        "required": ["schema", "error"],
        "$defs": {"ErrorOutput": _describe_object(ErrorOutput)},
    }


def _describe(table: Any) -> str:
    return " ".join(inspect.cleandoc(table.__doc__ or "").split())


def _describe_object(table: Any) -> dict[str, Any]:
    hints = get_type_hints(table, include_extras=True)
    meanings = read_meanings(table) if table.__module__ != "builtins" else {}
    return {
        "description": _describe(table),
        "type": "object",
        "properties": {
            key: {**_describe_type(kind), "description": meanings[key]}
            for key, kind in hints.items()
        },
        "required": [key for key, kind in hints.items() if get_origin(kind) is not NotRequired],
    }


def _describe_type(kind: Any) -> dict[str, Any]:
    """JSON Schema of one type."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is NotRequired:
        return _describe_type(parts[0])
    if kind is Any:
        return {}
    if is_typeddict(kind):
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if origin is Literal:
        return {"const": parts[0]} if len(parts) == 1 else {"enum": list(parts)}
    if origin is list:
        return {"type": "array", "items": _describe_type(parts[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _describe_type(parts[1])}
    if origin in (Union, UnionType):
        if all(part in WORDS for part in parts):
            return {"type": [WORDS[part] for part in parts]}
        return {"anyOf": [_describe_type(part) for part in parts]}
    return {"type": WORDS[kind]}


def _find_tables(kind: Any) -> Iterator[Any]:
    """Every table inside a table."""
    for hint in get_type_hints(kind, include_extras=True).values():
        for inner in _list_inner(hint):
            yield inner
            yield from _find_tables(inner)


def _list_inner(hint: Any) -> Iterator[Any]:
    if is_typeddict(hint):
        yield hint
    for part in get_args(hint):
        yield from _list_inner(part)
