"""A plan for queries about one table, from the sentences and a few settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.errors import PlanError
from tacit.plan.load import parse
from tacit.plan.plan import Plan
from tacit.plan.presets.privacy import Tree


@dataclass(frozen=True, kw_only=True)
class AskedTable:
    """A table to ask about: its source, the column with the owner of each row (None if each row has
    its own), and the number of owners.
    """

    source: str
    owner: str | None
    owners: int
    name: str = "asked"


def build_asked_plan(
    queries: Sequence[str] | Mapping[str, str],
    table: AskedTable,
    *,
    privacy: Mapping[str, float | None],
    settings: Mapping[str, Any],
) -> Plan:
    """Build the plan; sentences without names are numbered. `privacy` and `settings` are keys of
    [privacy] and [statistics]; those that are None keep their defaults.
    """
    if isinstance(queries, str) or not queries:
        raise PlanError(
            "queries must be a list of sentences, or a table of sentences by name, such as"
            ' ["count people"]'
        )
    named = (
        dict(queries)
        if isinstance(queries, Mapping)
        else {f"q{number}": text for number, text in enumerate(queries, start=1)}
    )
    stated = {key: value for key, value in privacy.items() if value is not None}
    data: Tree = {"source": table.source, "clients": table.owners}
    if table.owner is not None:
        data = {
            "source": table.source,
            "partition": "client",
            "columns": {"client": table.owner},
        }
        stated["clients"] = table.owners
    return parse(
        {
            "name": table.name,
            "privacy": {"preset": "private", **stated},
            "data": data,
            "statistics": {
                "queries": named,
                **{key: value for key, value in settings.items() if value is not None},
            },
        },
        "queries",
    )
