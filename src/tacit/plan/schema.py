"""The JSON Schema of plans, for editors that complete keys and show their meaning."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from tacit.plan.kinds import ByName, get_tag, list_fields, tables_in
from tacit.plan.plan import Plan


def schema() -> dict[str, Any]:
    """The JSON Schema of a plan, with a description of every key.

    Guarantees: a table of a valid plan matches exactly one of the schemas that its name selects.
    """
    made: dict[str, Any] = TypeAdapter(Plan).json_schema()
    for field in list_fields(Plan).values():
        default = next((one.default for one in field.metadata if isinstance(one, ByName)), None)
        for name, table in tables_in(field.annotation).items() if default else ():
            if name != default:  # only the default may go without its name
                required = made["$defs"][table.__name__].setdefault("required", [])
                required[:] = dict.fromkeys([get_tag(field.annotation), *required])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
