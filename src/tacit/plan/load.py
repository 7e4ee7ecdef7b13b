"""Reading and writing plans: every problem of a file in one message."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from tacit.errors import PlanError, did_you_mean
from tacit.plan.sense import contradictions
from tacit.plan.tables import Plan


def load(path: Path, overrides: list[str] | None = None) -> Plan:
    """Read a plan file, apply `table.key=value` overrides, and check it; raise one PlanError with all problems."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PlanError(f"{path}: cannot be read ({error.strerror}); `tacit init` writes a plan to start from") from None
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = f"; a table of your own? `tacit init --from {path}` writes a plan for it" if path.suffix.lower() != ".toml" else ""
        raise PlanError(f"{path}: is not valid TOML: {error}{hint}") from None
    for override in overrides or []:
        _override(tree, override)
    return parse(tree, where=str(path))


def parse(tree: dict[str, Any], where: str = "plan") -> Plan:
    """Turn nested tables into a checked Plan; raise one PlanError with all problems."""
    try:
        plan = TypeAdapter(Plan).validate_json(json.dumps(tree, default=str))
    except ValidationError as error:
        raise _refusal(where, [_explain(problem, tree) for problem in error.errors()]) from None
    check(plan, where)
    return plan


def check(plan: Plan, where: str = "plan") -> None:
    """Raise one PlanError naming every combination in the plan that has no meaning."""
    problems = contradictions(plan)
    if problems:
        raise _refusal(where, problems)


def dump(plan: Plan) -> dict[str, Any]:
    """Return the plan as nested tables of plain values; `parse(dump(plan)) == plan`."""
    tables: dict[str, Any] = _without_none(dataclasses.asdict(plan))
    return tables


def to_toml(plan: Plan) -> str:
    """Return the plan as TOML text with every setting written out."""
    return "\n".join(_toml_lines(dump(plan), ())).strip() + "\n"


def _toml_lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [f"{_toml_key(key)} = {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]
    if path and lines:
        lines.insert(0, f"[{'.'.join(path)}]")
    for key, value in table.items():
        if isinstance(value, dict) and value:
            lines += ["", *_toml_lines(value, (*path, key))]
    return lines


def _toml_key(key: str) -> str:
    """Return a key as TOML writes it: in quotes if it is not made of plain letters, digits, dashes and underscores."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return list(value) if isinstance(value, tuple) else value


def _override(tree: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise PlanError(f"-o {override}: needs the form table.key=value, for example -o codec.epsilon=1")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, last = key.strip().split(".")
    for table in tables:
        tree = tree.setdefault(table, {})
        if not isinstance(tree, dict):
            raise PlanError(f"-o {override}: {table!r} is a value, not a table; check the key")
    tree[last] = value


def _refusal(where: str, problems: list[str]) -> PlanError:
    head = f"{where}: 1 problem" if len(problems) == 1 else f"{where}: {len(problems)} problems"
    return PlanError("\n".join([head, *(f"  {problem}" for problem in problems)]))


def _explain(problem: Any, tree: dict[str, Any]) -> str:
    """Say one validation failure as: key: what was expected, what was found, and the closest right word."""
    path = [str(part) for part in problem["loc"]]
    key = ".".join(path)
    kind, context, found = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        known = [field.name for field in dataclasses.fields(_table_at(path[:-1]))]
        return f"{key}: unknown key; this table takes {', '.join(known)}.{did_you_mean(path[-1], known)}"
    if kind == "literal_error":
        words = [word.strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(", ")]
        guess = did_you_mean(found, words) if isinstance(found, str) else ""
        return f"{key}: needs one of {', '.join(words)}; got {found!r}.{guess}"
    if kind in ("dataclass_type", "dataclass_exact_type"):
        return f"{key}: needs to be a table, got {found!r}; write [{key}] and its keys below it"
    wanted = _WANTED.get(kind)
    limits = {key: f"{value:g}" if isinstance(value, float) else value for key, value in context.items()}
    needs = wanted.format(**limits) if wanted else problem["msg"][0].lower() + problem["msg"][1:]
    return f"{key}: needs {needs}; got {found!r}"


_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "greater_than": "a value above {gt}",
    "greater_than_equal": "a value of at least {ge}",
    "less_than": "a value below {lt}",
    "less_than_equal": "a value of at most {le}",
    "finite_number": "a finite number",
    "too_short": "at least {min_length} character",
    "too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} character",
    "string_too_long": "at most {max_length} characters",
}


def _table_at(path: list[str]) -> Any:
    table: Any = Plan
    for part in path:
        kind = get_type_hints(table)[part]
        table = next((one for one in get_args(kind) if isinstance(one, type) and dataclasses.is_dataclass(one)), kind)
    return table
