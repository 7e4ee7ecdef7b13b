"""Check an owner's rows against a plan, on the owner's machine: what does not fit, column by column.

Nothing is sent. Row numbers count the rows of the file from 1, without its header and blank lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import polars as pl

from tacit import data
from tacit.data.clean import to_text
from tacit.data.clients.client_names import fold_names
from tacit.data.load import read_source
from tacit.data.row_reader import RowReader
from tacit.data.schema.apply import apply_schema
from tacit.data.schema.misfit import (
    Misfit,
    MisfitRules,
    count_rows,
    describe_misfit,
    settle_misfits,
)
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.rows.site_rows import adapt_data_settings, describe_unread_columns
from tacit.errors import DataError, did_you_mean
from tacit.plan import Columns, ColumnSchema, Plan, Schema
from tacit.plan.tables.rows.schema.column import DATE_EXAMPLES
from tacit.privacy.policy import Limits


@dataclass(frozen=True, kw_only=True)
class RowMisfit:
    """What does not fit in one column: a sentence, and the numbers of its rows.

    `is_problem` is false for a fact that the owner should know and that stops nothing.
    """

    column: str
    sentence: str
    rows: tuple[int, ...] = ()
    is_problem: bool = True


@dataclass(frozen=True, kw_only=True)
class RowsCheck:
    """The result of a check. `refusal` says why a run of the plan would be refused for these rows,
    and is empty if it would not.
    """

    rows: int
    found: tuple[RowMisfit, ...]
    refusal: str = ""

    @property
    def fits(self) -> bool:
        """Whether all rows fit."""
        return not self.refusal and not any(one.is_problem for one in self.found)


def check_own_rows(plan: Plan, owner: Owner, limits: Limits) -> RowsCheck:
    """Compare the owner's rows with the columns and the schema of a plan."""
    settings = adapt_data_settings(plan, owner)
    try:
        frame = read_source(settings, guess=False).frame
    except DataError as error:
        unread = RowMisfit(column="", sentence=str(error))
        return RowsCheck(rows=0, found=(unread,), refusal=str(error))
    columns = replace(data.resolve_columns(plan.data, import_code=False), client=owner.unit.client)
    lacking = [*_find_lacking(frame, columns)]
    found = [*lacking, *_find_client_problems(frame, owner.unit.client)]
    found += [
        RowMisfit(column="", sentence=sentence, is_problem=False)
        for sentence in describe_unread_columns(frame, columns)
    ]
    site = data.SiteFile(decimal=owner.decimal, misfit_clients=limits.min_clients_per_value)
    reader = RowReader(settings, columns, plan.schema or Schema(), site)
    try:
        misfits, refusal = _find_misfits(frame, reader)
        found += misfits
    except DataError as error:
        refusal = str(error)
        found.append(RowMisfit(column="", sentence=refusal))
    refusal = lacking[0].sentence if lacking else refusal
    return RowsCheck(rows=frame.height, found=tuple(found), refusal=refusal)


def _find_lacking(frame: pl.DataFrame, columns: Columns) -> Iterator[RowMisfit]:
    """Columns of the plan that the file lacks."""
    for role, names in asdict(columns).items():
        for name in names if isinstance(names, tuple) else (names,) if names else ():
            if name not in frame.columns:
                hint = did_you_mean(name, frame.columns)
                sentence = f"the column {name!r} ({role}) is missing in the file.{hint}"
                yield RowMisfit(column=name, sentence=sentence)


def _find_client_problems(frame: pl.DataFrame, client: str | None) -> Iterator[RowMisfit]:
    """Rows without a client, and clients whose names may belong to one person."""
    if client is None or client not in frame.columns:
        return
    names = data.normalise_names(frame[client]).cast(pl.String)
    if names.null_count():
        rows = _number_rows(names.is_null())
        sentence = (
            f"{client!r} names no client in {count_rows(names.is_null())}; such rows take no part"
        )
        yield RowMisfit(column=client, sentence=sentence, rows=rows)
    written = pl.DataFrame(
        {"name": names, "folded": fold_names(names), "cell": to_text(frame[client])}
    )
    several = written.drop_nulls().filter(pl.col("name").n_unique().over("folded") > 1)
    for sentence in data.describe_similar_names(names):
        rows = _number_rows(names.is_in(several["name"].unique().implode()).fill_null(False))
        yield RowMisfit(column=client, sentence=sentence, rows=rows)
    joined = written.drop_nulls().filter(pl.col("cell").n_unique().over("name") > 1)
    if joined.height:
        sentence = (
            f"{joined['name'].n_unique():,} clients in {client!r} are written in several ways"
            " (blanks, Unicode forms) and count as one client each"
        )
        yield RowMisfit(column=client, sentence=sentence, is_problem=False)


def _find_misfits(frame: pl.DataFrame, reader: RowReader) -> tuple[list[RowMisfit], str]:
    """Cells that do not fit the schema, or the role of their column; and why a run would be
    refused.
    """
    schema, columns = reader.schema or Schema(), reader.columns
    client = columns.client if columns.client in frame.columns else None
    if client is not None:
        frame = frame.with_columns(data.normalise_names(frame[client]).cast(pl.String))
    mapped = apply_schema(frame, columns, schema, reader.decimal)
    found = [
        RowMisfit(
            column=one.column,
            sentence=_describe(one, schema.columns[one.column]),
            rows=_number_rows(one.rows),
        )
        for one in mapped.misfits
    ]
    found += _find_without_schema(frame, reader)
    nameless = [Misfit(client, "empty", frame[client].is_null())] if client else []
    least = reader.site.misfit_clients if reader.site else 1
    try:
        settle_misfits(
            mapped.frame,
            [*mapped.misfits, *(one for one in nameless if one.rows.any())],
            schema,
            MisfitRules(client, least),
        )
    except DataError as error:
        return found, str(error) if reader.schema else ""
    return found, ""


def _find_without_schema(frame: pl.DataFrame, reader: RowReader) -> Iterator[RowMisfit]:
    """Cells of a label or numeric column that the schema does not describe."""
    columns, stated = reader.columns, reader.schema.columns if reader.schema else {}
    label = columns.label
    if (
        label
        and label in frame.columns
        and label not in stated
        and not frame[label].dtype.is_nested()
    ):
        empty = to_text(frame[label]).is_null()
        if empty.any():
            sentence = f"{label!r} has no label in {count_rows(empty)}; such rows are left out"
            yield RowMisfit(column=label, sentence=sentence, rows=_number_rows(empty))
    numbers = {
        name: ColumnSchema(type="number")
        for name in columns.numeric
        if name in frame.columns and name not in stated
    }
    for one in apply_schema(frame, columns, Schema(columns=numbers), reader.decimal).misfits:
        sentence = f"{describe_misfit(one)} and counts as missing there"
        yield RowMisfit(column=one.column, sentence=sentence, rows=_number_rows(one.rows))


def _number_rows(wrong: pl.Series) -> tuple[int, ...]:
    return tuple((wrong.arg_true() + 1).to_list())


def _describe(misfit: Misfit, column: ColumnSchema) -> str:
    """A misfit in one sentence, with what the plan allows."""
    return f"{describe_misfit(misfit)}; the plan says {describe_column(column)}"


def describe_column(column: ColumnSchema) -> str:
    """What a column of the schema allows, in words."""
    said = [f"a {column.type}" if column.type != "integer" else "an integer"]
    low, high = column.minimum, column.maximum
    if low is not None and high is not None:
        said.append(f"from {_show(low)} to {_show(high)}")
    elif low is not None or high is not None:
        said.append(f"of at least {_show(low)}" if low is not None else f"of at most {_show(high)}")
    if column.unit:
        said.append(f"in {column.unit}")
    if column.type == "date":
        said.append(f"written as {DATE_EXAMPLES[column.date_format]}")
    if column.enum:
        more = ", …" if len(column.enum) > 8 else ""
        said.append(f"among {', '.join(column.enum[:8])}{more}")
    return " ".join(said) + (", required" if column.required else "")


def _show(end: float | str | None) -> str:
    return f"{end:g}" if isinstance(end, float) else str(end)
