"""Pieces of the generated pages."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import textwrap
from typing import Any


def describe(thing: Any) -> str:
    """The docstring of a class or function as Markdown, with file names of the source left out."""
    text = inspect.cleandoc(thing.__doc__ or "")
    return re.sub(r" \(`[a-z_]+\.py`\)", "", text)


def read_meanings(table: type[Any]) -> dict[str, str]:
    """The string below each field of a class, by the field's name."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(table))).body
    assert isinstance(body, ast.ClassDef)
    found = dict[str, str]()
    for field, below in zip(body.body, body.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[field.target.id] = " ".join(str(below.value.value).split())
    return found


def list_fields(table: type[Any]) -> str:
    """A bullet for each field of a dataclass: its name, type, default and meaning."""
    meanings = read_meanings(table)
    return "\n".join(
        f"- `{one.name}` ({describe_type(one.type)}{_default(one)}): {meanings[one.name]}"
        for one in dataclasses.fields(table)
    )


def describe_type(kind: Any) -> str:
    """A type in words, as JSON has it."""
    words = {"str": "text", "int": "integer", "float": "number", "bool": "true or false"}
    text = str(kind)
    if text.endswith(" | None"):
        return f"{describe_type(text.removesuffix(' | None'))} or null"
    if match := re.fullmatch(r"list\[(.*)\]", text):
        plural = {"text": "texts", "integer": "integers", "number": "numbers", "object": "objects"}
        return f"list of {plural[describe_type(match[1])]}"
    if match := re.fullmatch(r"dict\[str, (.*)\]", text):
        inner = describe_type(match[1])
        return "object" if inner == "anything" else f"object of name: {inner}"
    return {**words, "Any": "anything"}[text]


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f", default `{json.dumps(field.default_factory())}`"
    if field.default is dataclasses.MISSING:
        return ""
    return f", default `{json.dumps(field.default)}`"
