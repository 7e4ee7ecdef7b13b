"""Read, check and write plans; one error lists all problems."""

from __future__ import annotations

import dataclasses
import glob
import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tacit.errors import PlanError
from tacit.plan import toml
from tacit.plan.codec import Codec
from tacit.plan.explain import explain
from tacit.plan.kinds import list_fields, tables_in
from tacit.plan.plan import Plan, problems
from tacit.plan.presets import privacy
from tacit.plan.tables import statistics
from tacit.plan.tables.model import Model
from tacit.plan.tables.rows.data import is_file, run_problems


def load(path: Path, overrides: list[str] | None = None) -> Plan:
    """Read a plan file, apply `table.key=value` overrides, and check it."""
    tree = toml.read(path)
    for setting in overrides or []:
        toml.override(tree, setting)
        drop_foreign(tree, setting, overrides or [])
    return resolve_files(path, parse(tree, where=str(path)))


def resolve_files(path: Path, plan: Plan) -> Plan:
    """Resolve the plan's data files against the plan's folder, where they exist there."""
    data, test = plan.data, plan.data.test_source
    source = find_near(path.parent, data.source) if is_file(data) else data.source
    found = dataclasses.replace(
        data, source=source, test_source=find_near(path.parent, test) if test else None
    )
    return plan if found == data else dataclasses.replace(plan, data=found)


def find_near(folder: Path, source: str) -> str:
    """Resolve a file, a folder or a pattern against `folder`, if it exists there."""
    near = folder / source
    if source.startswith("~"):
        return source
    if source.endswith("/"):
        return f"{near}/" if near.is_dir() else source
    is_there = near.is_file() or any(glob.iglob(str(near), recursive=True))
    return str(near) if is_there else source


def drop_foreign(tree: dict[str, Any], setting: str, overrides: list[str]) -> None:
    """If an override changes the `name` of a table, remove the keys that the new name lacks.

    Keys set by other overrides stay, and are refused if the new name lacks them.
    """
    key = setting.partition("=")[0].strip()
    known = {"codec.name": tables_in(Codec), "model.name": tables_in(Model)}.get(key)
    table = tree.get(key.partition(".")[0])
    if known is None or not isinstance(table, dict) or table.get("name") not in known:
        return
    own = {"name", *list_fields(known[table["name"]])}
    kept = {other.partition("=")[0].strip() for other in overrides}
    for foreign in [
        name for name in table if name not in own and f"{key.partition('.')[0]}.{name}" not in kept
    ]:
        del table[foreign]


def parse(tree: dict[str, Any], where: str = "plan") -> Plan:
    """Turn nested tables into a checked Plan, with the settings that its preset computes."""
    tree = statistics.expanded(tree) if "statistics" in tree else tree
    tree = privacy.expanded(tree, where) if "privacy" in tree else tree
    try:
        plan = TypeAdapter(Plan).validate_json(json.dumps(tree, default=str))
    except ValidationError as error:
        raise _refusal(where, explain(error.errors())) from None
    check(plan, where)
    return plan


def parse_stored(facts: dict[str, Any], where: str) -> Plan:
    """A plan with the model, features, columns and schema of a stored model; its other tables are
    defaults.

    It is not checked for what a run requires, such as public rows.
    """
    tree = {key: facts.get(key, {}) for key in ("model", "features")}
    columns, schema = facts.get("columns", {}), facts.get("schema")
    try:
        return TypeAdapter(Plan).validate_json(
            json.dumps({**tree, "data": {"columns": columns}, "schema": schema})
        )
    except ValidationError as error:
        raise _refusal(where, explain(error.errors())) from None


def check(plan: Plan, where: str = "plan") -> None:
    """Raise one PlanError that lists all contradictory settings."""
    found = problems(plan)
    if found:
        raise _refusal(where, found)


def check_run(plan: Plan, where: str = "plan") -> None:
    """Raise PlanError if a run of the plan would have no test rows."""
    found = run_problems(plan)
    if found:
        raise _refusal(where, found)


def dump(plan: Plan) -> dict[str, Any]:
    """The plan as nested tables of plain values; `parse(dump(plan)) == plan`."""
    tables: dict[str, Any] = _drop_none(dataclasses.asdict(plan))
    return tables


def list_defaults(plan: Plan) -> dict[str, Any]:
    """The tables of a default plan, with the keys of this plan's codec and model added."""
    tables = dump(Plan())
    for name in ("model", "codec"):
        own = {
            key: field.default
            for key, field in list_fields(type(getattr(plan, name))).items()
            if not field.is_required()
        }
        tables[name] = {**{key: _drop_none(value) for key, value in own.items()}, **tables[name]}
    return tables


def to_toml(plan: Plan) -> str:
    """The plan as TOML text with every setting written out."""
    return toml.write(dump(plan))


def _drop_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop_none(inner) for key, inner in value.items() if inner is not None}
    return list(value) if isinstance(value, tuple) else value


def _refusal(where: str, found: list[str]) -> PlanError:
    head = f"{where}: 1 problem" if len(found) == 1 else f"{where}: {len(found)} problems"
    return PlanError("\n".join([head, *(f"  {problem}" for problem in found)]))
