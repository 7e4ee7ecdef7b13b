"""A first plan for a table: guessed column roles and settings that fit them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from tacit.data.clients.client_count import find_most_clients, require_test_rows
from tacit.data.input_rows import from_input_rows
from tacit.data.load import load
from tacit.data.named.catalogue import list_data_sets
from tacit.data.plain_text import PACKED
from tacit.data.read import ENDINGS, NoHeader, TextFormat, is_file_source, read_file
from tacit.data.roles.guess import Guess, StarterRequest
from tacit.data.roles.guess_roles import study_columns
from tacit.data.schema.draft import draft_schema
from tacit.errors import DataError
from tacit.plan import GIVEN, Columns, Data
from tacit.plan.presets.starter import TEST_SHARE, TextReading, starter_text
from tacit.plan.tables.rows.data import VALIDATION_SHARE
from tacit.randomness import Draws


@dataclass(frozen=True, kw_only=True)
class Starter:
    """The guessed roles with reasons, the plan as commented TOML, and the rows it was made from.

    `owners` are further candidates for the owner column. `write` renders the plan again for another
    encoding of texts.
    """

    guesses: list[Guess]
    text: str
    rows: pl.DataFrame
    write: Callable[[TextReading], str]
    notes: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that are read as text."""
        return tuple(guess.column for guess in self.guesses if guess.role == "text")


def build_starter(
    table: object,
    label: str | None = None,
    *,
    asked: StarterRequest | None = None,
    file: str = "plan.toml",
) -> Starter:
    """Build a first plan for a table: the path of a file, or rows in Python as
    `tacit.run(rows=...)` takes them.

    `label` names the column to predict, `asked` states more; `file` is where the plan will be
    stored. A first line that looks like a row is read as one, unless `asked.header` says otherwise.
    """
    asked = replace(asked or StarterRequest(), label=label) if label else asked or StarterRequest()
    said, notes = TextFormat(encoding=asked.encoding, header=asked.header), tuple[str, ...]()
    if not isinstance(table, str | Path):
        frame, _ = from_input_rows(table)
        source, name = GIVEN, "run"
    elif Path(table).is_dir() or is_file_source(str(table)):
        place = f"{Path(table)}/" if Path(table).is_dir() else str(table)
        frame, said, notes = _read_with_notes(place, said)
        source, name = (
            _name_from_plan(Path(table), Path(file)),
            re.sub(r"[^\w-]+", "-", _get_stem(table)).strip("-")[:60] or "run",
        )
    elif str(table) in {one.name for one in list_data_sets()}:
        raise DataError(
            f"{table} is a named data set, whose columns have roles already: write source ="
            f" {str(table)!r} under [data] of a plan; `tacit init --example list` shows plans to"
            " start from"
        )
    else:
        raise DataError(
            f"{table}: unknown file type; a plan can be made from files that end in {ENDINGS}"
        )
    found = study_columns(frame, asked)
    roles = {guess.column: guess.role for guess in found.guesses}
    rows, owners = _count_training_rows(frame, roles, asked.test_source)
    test = (
        _name_test_file(asked.test_source, said, roles, Path(file)) if asked.test_source else None
    )
    write = partial(
        starter_text,
        roles,
        source,
        rows,
        owners,
        name,
        file,
        one_bit=asked.one_bit,
        encoding=said.encoding,
        header=said.header,
        epsilon=asked.epsilon,
        test_source=test,
    )
    schema = draft_schema(frame, roles)
    return Starter(
        guesses=found.guesses,
        text=write() + schema,
        rows=frame,
        notes=(*notes, *found.notes),
        owners=found.owners,
        write=lambda reading: write(reading=reading) + schema,
    )


def _count_training_rows(
    frame: pl.DataFrame, roles: Mapping[str, str], test_source: str | None
) -> tuple[int, int]:
    """Count the rows, and their owners, that the plan trains on; raise DataError if it could not be
    run or tuned.

    The rows are read as a run of the plan reads them, and once more with validation rows, as `tacit
    plan tune` does.
    """
    data = Data(
        source=GIVEN,
        columns=_build_columns(roles),
        partition="client" if "client" in roles.values() else "iid",
        test=0.0 if test_source else TEST_SHARE,
        test_source=test_source,
    )
    draws = Draws.seeded(0).at("data")
    table = load(data, draws, frame)
    require_test_rows(table, data)
    try:
        require_test_rows(load(replace(data, validation=VALIDATION_SHARE), draws, frame), data)
    except DataError:
        raise DataError(
            f"the table has {table.train.height:,} train rows, too few to hold out validation rows"
            " for choosing settings; give more rows"
        ) from None
    return table.train.height, find_most_clients(table, data) if table.columns.client else 0


def _build_columns(roles: Mapping[str, str]) -> Columns:
    named = {
        role: tuple(column for column, its in roles.items() if its == role)
        for role in roles.values()
    }
    label, client, split = (
        next(iter(named.get(role, ())), None) for role in ("label", "client", "split")
    )
    text, numeric, categorical = (
        named.get(role, ()) for role in ("text", "numeric", "categorical")
    )
    return Columns(
        text=text, numeric=numeric, categorical=categorical, label=label, client=client, split=split
    )


def _name_test_file(source: str, said: TextFormat, roles: Mapping[str, str], plan: Path) -> str:
    """The path by which the plan names the file of test rows; raise DataError if it lacks a column."""
    if not is_file_source(source):
        raise DataError(
            f"{source}: unknown file type; test rows are read from files that end in {ENDINGS}"
        )
    if "split" in roles.values():
        raise DataError(
            f"{source}: the table has a split column that marks test rows; leave the file out, or"
            " remove that column"
        )
    rows, _ = read_file(source, said)
    lacking = [
        name
        for name, role in roles.items()
        if role not in ("left out", "client") and name not in rows.columns
    ]
    if lacking:
        raise DataError(
            f"{source} lacks columns of the table: {', '.join(map(repr, lacking))}; test rows need"
            " them all"
        )
    return _name_from_plan(Path(source), plan)


def _read_with_notes(
    source: str, said: TextFormat
) -> tuple[pl.DataFrame, TextFormat, tuple[str, ...]]:
    """Read a file's table; also return the assumptions made and sentences about them."""
    try:
        frame, note = read_file(source, said)
    except NoHeader:
        said = replace(said, header=False)
        frame, note = read_file(source, said)
        asked = (
            f"The first line of {source} looks like a row: columns are column_1, column_2, …;"
            " --header if it holds names."
        )
        return frame, said, (asked, *_to_sentence(note))
    return frame, said, _to_sentence(note)


def _to_sentence(note: str) -> tuple[str, ...]:
    plain = note.strip(" ()")
    return (f"{plain[0].upper()}{plain[1:]}.",) if plain else ()


def _get_stem(table: str | Path) -> str:
    """A file's name without its extensions: "visits" for "visits.csv.gz"."""
    path = Path(table)
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).stem


def _name_from_plan(table: Path, plan: Path) -> str:
    """The path of a file relative to the plan's folder, unless it is absolute."""
    here, slash = plan.parent, "/" if table.is_dir() else ""
    if table.expanduser().is_absolute() or str(table).startswith("~") or here == Path():
        return f"{table}{slash}"
    return f"{os.path.relpath(table, here)}{slash}"
