"""Validation errors of a plan as sentences: the key, what it must be, what it is, a suggestion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo

from tacit import extensions
from tacit.errors import did_you_mean
from tacit.plan.key_hints import find_key
from tacit.plan.kinds import (
    OWN,
    ByName,
    Needs,
    OrOwn,
    Per,
    find_column_table,
    get_tag,
    list_fields,
    tables_in,
)
from tacit.plan.plan import Plan

_WANTED = {
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "finite_number": "a finite number",
    "too_long": "a list of at most {max_length}",
    "string_too_short": "a string of at least {min_length} character",
    "string_too_long": "a string of at most {max_length} characters",
}


class _Key(NamedTuple):
    """A key as written in the plan, its table, and the setting that selected the table."""

    written: str
    field: FieldInfo | None
    table: Any
    chosen: str  # "codec.name = 'rr'", or nothing


def explain(failures: Sequence[Any], root: Any = Plan) -> list[str]:
    """A sentence for each validation error of a plan, or of a table constructed in Python."""
    return [_explain(one, root) for one in failures if not _follows(one)]


def _follows(problem: Any) -> bool:
    """Whether a list is reported as too short only because its entries were refused."""
    return bool(
        problem["type"] == "too_short" and problem["ctx"]["actual_length"] < len(problem["input"])
    )


def _explain(problem: Any, root: Any) -> str:
    """One validation error as a sentence."""
    key = _locate(problem["loc"], root)
    kind, context, found = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        known, word = list(list_fields(key.table)), key.written.rpartition(".")[2]
        place = f"with {key.chosen} the table" if key.chosen else "this table"
        elsewhere = find_key(word)
        is_another = elsewhere not in (None, key.written)
        hint = f" Did you mean {elsewhere!r}?" if is_another else did_you_mean(word, known)
        return f"{key.written}: unknown key; {place} takes {', '.join(known)}.{hint}"
    if kind == "literal_error":
        words = [
            word.strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(", ")
        ]
        guess = did_you_mean(found, words) if isinstance(found, str) else ""
        own = f", or your own as {OWN}" if _get_literal(key.field, OrOwn) else ""
        return f"{key.written} must be one of {', '.join(words)}{own}; got {_shown(found)}.{guess}"
    if kind == "union_tag_invalid":
        return _unknown_name(key, found)
    if kind in ("dataclass_type", "dataclass_exact_type", "union_tag_not_found"):
        return f"{key.written} must be a table, got {_shown(found)}; {_write_table(key)}"
    if kind == "unexpected_positional_argument":
        known = list(list_fields(root))
        return (
            f"settings must be keyword arguments, such as {known[0]}=…; got {_shown(found)}; the"
            f" keywords are {', '.join(known)}"
        )
    if kind in ("missing", "too_short"):
        return _missing(key)
    if kind == "value_error":
        return f"{key.written}: {context['error']}; got {_shown(found)}"
    return f"{key.written} must be {_requirement(key, problem)}, got {_shown(found)}"


def _write_table(key: _Key) -> str:
    """Say how a table is written in a plan file, and in Python."""
    named = (
        [table.__name__ for table in tables_in(key.field.annotation).values()] if key.field else []
    )
    python = (
        f" (in Python tacit.{named[0]}(…){' and the like' if len(named) > 1 else ''})"
        if named
        else ""
    )
    return f"write [{key.written}] and its keys below it{python}"


def _requirement(key: _Key, problem: Any) -> str:
    kind, needs, per = problem["type"], _get_literal(key.field, Needs), _get_literal(key.field, Per)
    if kind == "string_pattern_mismatch" and needs:
        return str(needs.what)
    context = problem.get("ctx", {})
    limits = {
        name: f"{value:g}" if isinstance(value, float) else value for name, value in context.items()
    }
    wanted = _WANTED.get(kind)
    words = wanted.format(**limits) if wanted else problem["msg"][0].lower() + problem["msg"][1:]
    return f"{words} (per {per.unit})" if per and limits else words


def _missing(key: _Key) -> str:
    needs, per = _get_literal(key.field, Needs), _get_literal(key.field, Per)
    what = (needs.what if needs else "a value") + (f" (per {per.unit})" if per else "")
    chosen = f" with {key.chosen}" if key.chosen else ""
    hint = f" ({needs.hint})" if needs and needs.hint else ""
    return f"{key.written} is required{chosen}: {what}{hint}"


def _unknown_name(key: _Key, found: Any) -> str:
    assert key.field is not None
    choices, tag = list(tables_in(key.field.annotation)), get_tag(key.field.annotation)
    name, part = found[tag], _get_literal(key.field, ByName).own
    own = f", or your own as {OWN}" if part else ""
    known = [choice for choice in choices if choice != OWN]
    said = f"{key.written}.{tag} must be one of {', '.join(known)}{own}; got {_shown(name)}."
    if not isinstance(name, str):
        return said
    if part is None:
        return said + did_you_mean(name, known)
    installed = extensions.find_entry_points(part)
    return said + did_you_mean(name, [*known, *installed]) + extensions.describe_other_names(part)


def _locate(place: Sequence[Any], root: Any) -> _Key:
    """The key of a validation error; for a table selected by name, the path contains the name."""
    keys: list[str] = []
    field: FieldInfo | None = None
    table, chosen, tables, per_column = root, "", {"": root}, None
    for part in place:
        if per_column is not None:  # the part is the name of a column
            keys.append(str(part))
            tables, per_column = {"": per_column}, None
            continue
        if len(tables) > 1:
            assert field is not None
            table, chosen = tables[part], f"{'.'.join(keys)}.{get_tag(field.annotation)} = {part!r}"
            tables = {"": table}
            continue
        keys.append(str(part))
        if tables:
            table = tables[""]
            field = list_fields(table).get(str(part))
            tables = tables_in(field.annotation) if field else {}
            per_column = find_column_table(field.annotation) if field else None
    return _Key(".".join(keys), field, table, chosen)


def _get_literal(field: FieldInfo | None, kind: type[Any]) -> Any:
    return next((one for one in field.metadata if isinstance(one, kind)), None) if field else None


def _shown(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= 200 else f"{text[:200]}…"
