"""A plan to start from for a table: the roles of its columns guessed, and settings that fit
them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from tacit.data.clients.client_count import most_clients, require_test_rows
from tacit.data.input_rows import from_input_rows
from tacit.data.load import load
from tacit.data.plain_text import PACKED
from tacit.data.read import ENDINGS, NoHeader, TextFormat, is_file_source, read_file
from tacit.data.roles.guess import Guess, StarterRequest
from tacit.data.roles.guess_roles import study
from tacit.errors import DataError
from tacit.plan import GIVEN, Columns, Data
from tacit.plan.presets.starter import TEST_SHARE, TextReading, starter_text
from tacit.plan.tables.data import VALIDATION_SHARE
from tacit.randomness import Draws


@dataclass(frozen=True, kw_only=True)
class Starter:
    """What each column was taken for, with the reason, the plan as commented TOML, and the rows it
    was made from.

    `owners` are columns that may say who owns a row, if that is unclear. `write` makes the plan's
    text anew for another reading of texts.
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
    """Return a plan to start from for a table: the path of a file, or rows in Python as
    `tacit.run(rows=...)` takes them.

    `label` names the column to predict if the guess would be wrong, `asked` says more; `file` is
    where the plan will be kept. A first line that looks like a row is taken for one, unless
    `asked.header` says that it is none.
    """
    asked = replace(asked or StarterRequest(), label=label) if label else asked or StarterRequest()
    said, notes = TextFormat(encoding=asked.encoding, header=asked.header), tuple[str, ...]()
    if not isinstance(table, str | Path):
        frame, _ = from_input_rows(table)
        source, name = GIVEN, "run"
    elif is_file_source(str(table)):
        frame, said, notes = _read_with_notes(str(table), said)
        source, name = (
            _name_from_plan(Path(table), Path(file)),
            re.sub(r"[^\w-]+", "-", _stem(table)).strip("-")[:60] or "run",
        )
    else:
        raise DataError(
            f"{table}: is of an unknown kind; a plan can be made from files that end in {ENDINGS}"
        )
    found = study(frame, asked)
    roles = {guess.column: guess.role for guess in found.guesses}
    rows, owners = _count_training_rows(frame, roles, asked.test_source)
    test = _test_file(asked.test_source, said, roles, Path(file)) if asked.test_source else None
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
    return Starter(
        guesses=found.guesses,
        text=write(),
        rows=frame,
        notes=(*notes, *found.notes),
        owners=found.owners,
        write=lambda reading: write(reading=reading),
    )


def _count_training_rows(
    frame: pl.DataFrame, roles: Mapping[str, str], test_source: str | None
) -> tuple[int, int]:
    """How many rows, and of how many owners, the plan has to train on; raise DataError if it could
    not be run or tuned.

    The rows are read as a run of the plan reads them, and once more with validation rows, as `tacit
    tune` does.
    """
    data = Data(
        source=GIVEN,
        columns=_columns(roles),
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
            f"the table has {table.train.height:,} rows to train on, too few to hold out others for"
            " choosing settings; give more rows"
        ) from None
    return table.train.height, most_clients(table, data) if table.columns.client else 0


def _columns(roles: Mapping[str, str]) -> Columns:
    """The columns table of a plan with these roles."""
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


def _test_file(source: str, said: TextFormat, roles: Mapping[str, str], plan: Path) -> str:
    """How the plan names the file of test rows; raise DataError if it lacks a column that
    is read.
    """
    if not is_file_source(source):
        raise DataError(
            f"{source}: is of an unknown kind; test rows are read from files that end in {ENDINGS}"
        )
    if "split" in roles.values():
        raise DataError(
            f"{source}: the table marks test rows itself, in a column; leave the file out, or"
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
            f"{source}: lacks the columns {', '.join(map(repr, lacking))} of the table; test rows"
            " need them all"
        )
    return _name_from_plan(Path(source), plan)


def _read_with_notes(
    source: str, said: TextFormat
) -> tuple[pl.DataFrame, TextFormat, tuple[str, ...]]:
    """Return a file's table, what had to be assumed to read it, and sentences about that."""
    try:
        frame, note = read_file(source, said)
    except NoHeader:
        said = replace(said, header=False)
        frame, note = read_file(source, said)
        asked = (
            f"The first line of {source} looks like a row: columns are column_1, column_2, …;"
            " --header if it holds names."
        )
        return frame, said, (asked, *_sentence(note))
    return frame, said, _sentence(note)


def _sentence(note: str) -> tuple[str, ...]:
    plain = note.strip(" ()")
    return (f"{plain[0].upper()}{plain[1:]}.",) if plain else ()


def _stem(table: str | Path) -> str:
    """Return a file's name without its endings: "visits" for "visits.csv.gz"."""
    path = Path(table)
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).stem


def _name_from_plan(table: Path, plan: Path) -> str:
    """Return how a plan names a file: by a path from the plan's own folder, unless the path is
    absolute.
    """
    here = plan.parent
    if table.expanduser().is_absolute() or str(table).startswith("~") or here == Path():
        return str(table)
    return os.path.relpath(table, here)
