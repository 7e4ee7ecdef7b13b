"""Every JSON object that a command prints in any test is checked against its schema in docs/reference/json."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "reference" / "json"


misfits: list[str] = []
"""What the outputs of the current test have that their schemas do not, and the other way round."""


def install() -> None:
    """Check what is given to `print_json` from now on."""
    from tacit.cli import tables

    plain = tables.print_json

    def print_checked(schema: str, value: dict[str, Any]) -> None:
        misfits.extend(find_misfits({"schema": f"tacit/{schema}", **value}))
        plain(schema, value)

    tables.print_json = print_checked


def find_misfits(value: dict[str, Any]) -> list[str]:
    """How an object differs from its schema, other keys included; one sentence each."""
    return [
        f"{value['schema']}: {'.'.join(map(str, error.absolute_path)) or 'output'}: {error.message}"
        for error in load_validator(value["schema"]).iter_errors(json.loads(json.dumps(value)))
    ]


@cache
def load_validator(name: str) -> Any:
    """The validator of NAME/VERSION, which takes no key that the schema does not have."""
    from jsonschema import Draft202012Validator

    schema = json.loads((FOLDER / f"{name.split('/')[1]}.json").read_text(encoding="utf-8"))
    assert schema["$id"] == name
    Draft202012Validator.check_schema(schema)
    for table in (schema, *schema["$defs"].values()):
        table["additionalProperties"] = False
    return Draft202012Validator(schema)
