"""Rows that do not fit a schema: what does not fit, and whether they are left out or refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, assert_never

import polars as pl

from tacit.data.roles.roles import name_publicly
from tacit.errors import MisfitError
from tacit.plan import Schema

MisfitKind = Literal[
    "not a number",
    "not an integer",
    "not a boolean",
    "not a date",
    "out of range",
    "unknown value",
    "empty",
]
_SHOWN = 8


class Misfit(NamedTuple):
    """One kind of misfit in one column; `rows` has one boolean per row of the table."""

    column: str
    kind: MisfitKind
    rows: pl.Series


class MisfitRules(NamedTuple):
    """When misfits refuse a run. `least` is the number of clients that must have the same misfit in
    a column; `client` is the column of clients, None where rows are counted.
    """

    client: str | None = None
    least: int = 1


def count_clients(frame: pl.DataFrame, misfit: Misfit, client: str | None) -> int:
    """How many clients have a misfit; rows where a table has no clients, or a row names none."""
    if client is None or misfit.column == client:
        return int(misfit.rows.sum())
    return frame[client].filter(misfit.rows).n_unique()


def settle_misfits(
    frame: pl.DataFrame, misfits: Sequence[Misfit], schema: Schema, rules: MisfitRules
) -> tuple[pl.DataFrame, list[str]]:
    """Leave out the rows that do not fit, and say so; raise MisfitError where the schema or the
    number of such rows does not allow it.

    Guarantees: at a site the refusal depends on at least `rules.least` clients with the same misfit
    in one column, or on most rows. Fewer clients change neither the refusal nor its words.
    """
    wrong = _join_rows(misfits, frame.height)
    if not wrong.any():
        return frame, []
    refused = [one for one in misfits if count_clients(frame, one, rules.client) >= rules.least]
    match schema.misfits:
        case "refuse":
            if refused:
                raise _build_error(refused, refused, schema, rules)
        case "drop":
            pass
        case _:
            assert_never(schema.misfits)
    if 2 * int(wrong.sum()) > frame.height:
        raise _build_error(misfits, refused, schema, rules, ("most rows do not fit",))
    said = f"{int(wrong.sum()):,} rows do not fit the schema and are left out"
    return frame.filter(~wrong), [f"{said} ({_list_misfits(misfits)})"]


def describe_misfit(misfit: Misfit) -> str:
    """A misfit in words, with its number of rows, for the owner of the rows."""
    what = "has an unknown value" if misfit.kind == "unknown value" else f"is {misfit.kind}"
    return f"{misfit.column!r} {what} in {count_rows(misfit.rows)}"


def count_rows(wrong: pl.Series) -> str:
    """The number of rows that are marked, in words."""
    count = int(wrong.sum())
    return "1 row" if count == 1 else f"{count:,} rows"


def _join_rows(misfits: Sequence[Misfit], height: int) -> pl.Series:
    wrong = pl.repeat(False, height, dtype=pl.Boolean, eager=True)
    for one in misfits:
        wrong |= one.rows
    return wrong


def _list_misfits(misfits: Sequence[Misfit]) -> str:
    more = f" and {len(misfits) - _SHOWN} more" if len(misfits) > _SHOWN else ""
    return ", ".join(map(describe_misfit, misfits[:_SHOWN])) + more


def _build_error(
    misfits: Sequence[Misfit],
    public: Sequence[Misfit],
    schema: Schema,
    rules: MisfitRules,
    reasons: tuple[str, ...] = (),
) -> MisfitError:
    """The refusal: counts for the owner; for the server names of columns and kinds."""
    named = [
        "rows without a client"
        if one.column == rules.client
        else f"{name_publicly(list(schema.columns), one.column)} {one.kind}"
        for one in public
    ]
    return MisfitError(
        f"rows do not fit the plan's schema: {_list_misfits(misfits)}; correct the rows, add the"
        " cells to mapping or missing_values of the column, or set schema.misfits = 'drop'; at a"
        " site, `tacit site check` counts them",
        ", ".join([*reasons, *named[:_SHOWN]]),
    )
