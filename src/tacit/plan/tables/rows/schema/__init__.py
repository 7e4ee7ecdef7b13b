"""[schema]: what the cells of columns are at every site, and what happens to rows that do not fit."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Len
from pydantic.dataclasses import dataclass

from tacit.column_statistics.agreed_values import AgreedValues
from tacit.column_statistics.common_values import MISSING
from tacit.plan.kinds import STRICT, Name
from tacit.plan.tables.rows.schema.column import BOOLEANS, ColumnSchema, fits_type, read_end

if TYPE_CHECKING:
    from tacit.plan.plan import Plan
    from tacit.plan.tables.rows.columns import Columns

_ROLES = ("label", "numeric", "categorical", "text")
_SET_BY = {
    "minimum": ("number", "integer", "date"),
    "maximum": ("number", "integer", "date"),
    "enum": ("string", "number", "integer"),
    "mapping": ("string", "number", "integer", "boolean"),
}
"""Keys that only some types have."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Schema:
    """What the cells of columns are at every site ([data.md](guides/data.md#a-schema)). Simulator, sites
    and `tacit predict` apply it to rows as they are read.
    """

    misfits: Literal["refuse", "drop"] = "refuse"
    """Rows with a value that does not fit. `refuse`: the run is refused; a site refuses if at least
    `limits.min_clients_per_value` of its clients have the same misfit in a column, and leaves rows
    of fewer out. `drop`: such rows are left out. Both refuse if most rows do not fit.
    """
    columns: Annotated[dict[Name, ColumnSchema], Len(0, 10_000)] = field(default_factory=dict)
    """The columns, each a table `[schema.columns.COLUMN]`. Each is a label, numeric, categorical or
    text column of `[data.columns]`.
    """


def agree_values(schema: Schema | None, columns: Columns) -> AgreedValues:
    """What a schema states about columns with these roles."""
    found = schema.columns if schema else {}
    label = found.get(columns.label or "")
    numeric = {name: found[name] for name in columns.numeric if name in found}
    return AgreedValues(
        classes=label.names if label else (),
        ranges={name: one.range for name, one in numeric.items() if one.range},
        categories={
            name: (*found[name].names, *(() if found[name].required else (MISSING,)))
            for name in columns.categorical
            if name in found and found[name].names
        },
        may_miss={name: not one.required for name, one in numeric.items()},
    )


def hash_schema(schema: Schema) -> str:
    """The SHA-256 by which a data owner's policy names a schema: of all its settings."""
    return hashlib.sha256(json.dumps(asdict(schema), sort_keys=True).encode()).hexdigest()


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    if plan.schema is None:
        return []
    roles, found = _find_roles(plan.data.columns), list[str]()
    for name, column in plan.schema.columns.items():
        key, role = f"schema.columns.{name}", roles.get(name)
        if role in ("client", "split", "image"):
            found.append(
                f"{key} cannot describe the {role} column; each site decides how its names are read"
                if role == "client"
                else f"{key} cannot describe the {role} column; remove the table"
            )
        elif roles and role is None:
            found.append(
                f"{key}: {name!r} is not a label, numeric, categorical or text column of"
                " data.columns; name it there or remove the table"
            )
        found += [f"{key}.{problem}" for problem in _column_problems(column, role or "")]
    return found


def _find_roles(columns: Columns) -> dict[str, str]:
    """The role of each column that a plan names."""
    found = {name: role for role in _ROLES[1:] for name in getattr(columns, role)}
    single = {role: getattr(columns, role) for role in ("label", "client", "split", "image")}
    return found | {name: role for role, name in single.items() if name}


def _column_problems(column: ColumnSchema, role: str) -> list[str]:
    found = [
        f"{key} cannot be used with type = {column.type!r}; remove it"
        for key, types in _SET_BY.items()
        if getattr(column, key) not in (None, (), {}) and column.type not in types
    ]
    return found or [
        *_type_problems(column, role),
        *_range_problems(column),
        *_value_problems(column, role),
    ]


def _type_problems(column: ColumnSchema, role: str) -> list[str]:
    if column.type != "date" and column.format is not None:
        return ["format requires type = 'date'; remove it"]
    if role == "numeric" and column.type == "string":
        return ["type = 'string' cannot describe a numeric column; use 'number' or 'integer'"]
    if role == "text" and (column.type != "string" or column.enum or column.mapping):
        return ["type must be 'string' for a text column, without enum and mapping"]
    return []


def _range_problems(column: ColumnSchema) -> list[str]:
    ends = dict[str, float | None]()
    for key in ("minimum", "maximum"):
        try:
            ends[key] = read_end(column, getattr(column, key))
        except ValueError:
            what = "a day such as '2000-01-31'" if column.type == "date" else "a number"
            return [f"{key} must be {what}, got {getattr(column, key)!r}"]
    low, high = ends["minimum"], ends["maximum"]
    if low is not None and high is not None and not low < high:
        return [f"maximum must be above minimum = {column.minimum}, got {column.maximum}"]
    if column.enum and (low is not None or high is not None):
        return ["enum cannot be combined with minimum or maximum; remove one of them"]
    return []


def _value_problems(column: ColumnSchema, role: str) -> list[str]:
    """List values of `enum`, `mapping` and `missing_values` that contradict each other."""
    found = [
        f"enum: {value!r} is no {column.type}"
        for value in column.enum
        if not fits_type(column, value)
    ]
    found += [
        f"mapping: {value!r} is not in enum"
        if column.enum
        else f"mapping: {value!r} is no {column.type}"
        for value in dict.fromkeys(column.mapping.values())
        if (value not in column.enum if column.enum else not fits_type(column, value))
    ]
    if found:
        return found
    if role == "label" and column.enum and len(set(column.enum)) < 2:
        return ["enum must have at least two classes of the label"]
    if len({_read_value(column, value) for value in column.enum}) < len(column.enum):
        return ["enum contains a value twice; name it once"]
    known = {*column.mapping.values(), *(BOOLEANS if column.type == "boolean" else column.enum)}
    own = {_read_value(column, value) for value in known}
    spelled = {_spell(cell): cell for cell in column.mapping}
    clashes = [
        cell
        for cell in column.missing_values
        if _spell(cell) in spelled or _read_value(column, cell) in own
    ]
    return [
        *(
            f"mapping: {cell!r} and {spelled[_spell(cell)]!r} are the same cell; name it once"
            for cell in column.mapping
            if spelled[_spell(cell)] != cell
        ),
        *(
            f"mapping: {cell!r} is itself a value of the column and cannot mean another; rename it"
            " at the sites"
            for cell, value in column.mapping.items()
            if _read_value(column, cell) in own - {_read_value(column, value)}
        ),
        *(
            f"missing_values: {cell!r} is also in enum or mapping; remove it there or here"
            for cell in clashes
        ),
    ]


def _read_value(column: ColumnSchema, cell: str) -> str | float:
    """What a cell means without a mapping: a number by value, a boolean in one spelling."""
    if column.is_number and fits_type(column, cell):
        return float(cell)
    text = _spell(cell)
    return BOOLEANS.get(text.lower(), text) if column.type == "boolean" else text


def _spell(cell: str) -> str:
    """A cell as rows are compared with it: with composed letters, without surrounding blanks."""
    return unicodedata.normalize("NFC", cell).strip()
