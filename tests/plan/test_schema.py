"""The JSON Schema of plans says what the tables say."""

from __future__ import annotations

from typing import Any

from tacit.plan import reference
from tacit.plan.schema import schema


def keys(node: dict[str, Any], everything: dict[str, Any], path: str = "") -> set[str]:
    """Return the keys a schema describes, with their tables."""
    found = set()
    for name, inner in node.get("properties", {}).items():
        each, below = inner.get("additionalProperties", {}), f"{path}{name}."
        if "$ref" in each:  # a table for each column
            inner, below = each, f"{below}COLUMN."
        outer = [inner, *inner.get("anyOf", ())]
        choices = [*outer, *(choice for one in outer for choice in one.get("oneOf", ()))]
        tables = [
            everything["$defs"][one["$ref"].rpartition("/")[2]] for one in choices if "$ref" in one
        ]
        found |= (
            {f"{path}{name}"}
            if not tables
            else set().union(*(keys(one, everything, below) for one in tables))
        )
    return found


def test_the_schema_has_every_key_and_no_other() -> None:
    made = schema()
    assert keys(made, made) == set(reference.keys())


def test_every_key_has_its_meaning_and_unknown_keys_are_refused() -> None:
    made = schema()
    for table in (made, *made["$defs"].values()):
        assert table["additionalProperties"] is False
        for name, key in table["properties"].items():
            assert (
                "description" in key
                or "$ref" in key
                or name in ("name", "columns", "share", "quantise", "kind")
            ), name


def test_only_the_default_choice_may_go_without_its_name() -> None:
    tables = schema()["$defs"]
    nameless = [
        name
        for name, table in tables.items()
        if "name" in table["properties"] and "name" not in table.get("required", ())
    ]
    assert sorted(nameless) == ["Logistic", "RR"]
    assert tables["RR"]["required"] == ["epsilon", "clip"]
    assert tables["MLP"]["required"] == ["name", "hidden"]
