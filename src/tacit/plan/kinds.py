"""Types of plan keys, and the validation that all tables of a plan share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin

from annotated_types import Ge, Gt, Le, Len, Lt
from pydantic import (
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidatorFunctionWrapHandler,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from tacit import extensions
from tacit.extensions import Reference

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True)
"""Every table refuses unknown keys and wrong types; the text below a key is its meaning."""

Positive = Annotated[float, Gt(0)]
Count = Annotated[int, Ge(1), Le(1_000_000_000)]
Share = Annotated[float, Ge(0), Lt(1)]
Name = Annotated[str, Len(1, 200)]

One = TypeVar("One")


def _to_tuple(value: object) -> object:
    """Turn a list into a tuple and a string into a tuple of one; pydantic refuses anything else."""
    if isinstance(value, list):
        return tuple(value)
    return (value,) if isinstance(value, str) else value


def _values_to_tuples(value: object) -> object:
    return {key: _to_tuple(one) for key, one in value.items()} if isinstance(value, dict) else value


Listed = BeforeValidator(_to_tuple)
"""With a tuple: also accept a list, and a single string for a list of one."""
ListedEach = BeforeValidator(_values_to_tuples)
"""The same for each value of a table."""
Many = Annotated[tuple[One, ...], Listed]
Setting = bool | int | float | str
"""A value in the settings table of a user-defined part."""

OWN = extensions.FORM
"""Placeholder for every name that refers to a user-defined part."""


@dataclasses.dataclass(frozen=True)
class Own:
    """A string that refers to a user-defined part, directly or by an entry point."""

    part: extensions.Part

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The schema that turns a string into a reference; nothing is imported."""
        return core_schema.no_info_after_validator_function(
            self._refer, core_schema.str_schema(max_length=extensions.LONGEST)
        )

    def _refer(self, text: str) -> Reference:
        found = extensions.resolve(self.part, text)
        if found is None:
            raise ValueError(
                "no installed package has an entry point of this name in the group"
                f" tacit.{self.part}"
            )
        return found


@dataclasses.dataclass(frozen=True)
class OrOwn:
    """Allow a reference to a user-defined part where a key has built-in values.

    A string for which `is_built_in` is true never refers to a user-defined part.
    """

    part: extensions.Part
    is_built_in: Callable[[str], bool]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Build the schema that tries references first; nothing is imported."""
        built_in = [one for one in get_args(source) if one is not Reference]
        inner = handler.generate_schema(built_in[0]) if built_in else handler(source)
        return core_schema.no_info_wrap_validator_function(self._read, inner)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe the built-in values, and any string with a colon."""
        return {"anyOf": [handler(schema), {"type": "string", "pattern": ":"}]}

    def _read(self, value: Any, read_built_in: ValidatorFunctionWrapHandler) -> Any:
        if isinstance(value, str) and not self.is_built_in(value):
            found = extensions.resolve(self.part, value)
            if found is not None:
                return found
        return read_built_in(value)


@dataclasses.dataclass(frozen=True)
class Needs:
    """What a required key means, for the message that it is missing, and a value to try."""

    what: str
    hint: str = ""


@dataclasses.dataclass(frozen=True)
class Per:
    """The unit of an epsilon; every message about it states the unit."""

    unit: str


Clip = Annotated[
    Positive, Needs("the largest change of one weight", "try 1e-3, or ask `tacit plan advise`")
]
Norm = Annotated[Positive, Needs("the maximum L2 norm of an update", "try 1")]
RunLoss = Annotated[float, Ge(1e-3), Le(50), Needs("a value"), Per("run")]
RunDelta = Annotated[
    float,
    Gt(0),
    Lt(0.5),
    Needs("the probability that epsilon does not hold, per run", "try 1e-5"),
]


@dataclasses.dataclass(frozen=True)
class ByName:
    """A choice of tables by their `name` or `kind`, with a default name. With `own`, one of the
    tables is for user-defined parts.
    """

    default: str
    own: extensions.Part | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The schema that reads the name first, so that it validates the keys of one table only."""
        choices = {
            name: handler.generate_schema(table) for name, table in tables_in(source).items()
        }
        tag = get_tag(source)

        def name_of(value: Any) -> Any:
            name = (
                value.get(tag, self.default)
                if isinstance(value, dict)
                else getattr(value, tag, None)
            )
            return OWN if self._is_own(name, choices) else name

        made = core_schema.tagged_union_schema(choices, discriminator=name_of)
        return core_schema.nullable_schema(made) if NoneType in get_args(source) else made

    def _is_own(self, name: Any, known: Container[str]) -> bool:
        if self.own is None or not isinstance(name, str) or name in known:
            return False
        return ":" in name or name in extensions.find_entry_points(self.own)


def list_fields(table: Any) -> dict[str, FieldInfo]:
    """The keys of a table: their types, limits, defaults and meanings."""
    found: dict[str, FieldInfo] = table.__pydantic_fields__
    return found


def tables_in(kind: Any) -> dict[str, Any]:
    """The tables a key may hold, by name ("" if there is only one); empty for a plain value."""
    if get_origin(kind) is dict:
        return {}
    found = [
        one
        for one in (kind, *get_args(kind))
        if isinstance(one, type) and dataclasses.is_dataclass(one)
    ]
    if len([one for one in get_args(kind) if one is not NoneType]) < 2:
        return {"": found[0]} if found else {}
    return {_own_name(table): table for table in found}


def find_column_table(kind: Any) -> Any | None:
    """The table that a key holds for each column; None if it holds none."""
    last = get_args(kind)[-1] if get_origin(kind) is dict else None
    return last if isinstance(last, type) and dataclasses.is_dataclass(last) else None


def get_tag(kind: Any) -> str:
    """The key that selects a table: `name` or `kind`."""
    found = next(one for one in get_args(kind) if one is not NoneType)
    return "kind" if "kind" in list_fields(found) else "name"


def _own_name(table: Any) -> str:
    fields = list_fields(table)
    name = fields["kind"] if "kind" in fields else fields["name"]
    return OWN if name.is_required() else str(name.default)
