"""A plan to start from for a table: the roles of its columns guessed, and settings that fit them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from tacit.data.client_count import most_clients, require_test_rows
from tacit.data.guess_roles import Guess, guess_roles
from tacit.data.input_rows import from_input_rows
from tacit.data.load import load
from tacit.data.plain_text import PACKED
from tacit.data.read import ENDINGS, NoHeader, Text, is_file_source, read_file
from tacit.draws import Draws
from tacit.errors import DataError
from tacit.plan import GIVEN, Columns, Data
from tacit.plan.data import VALIDATION_SHARE
from tacit.plan.starter import TEST_SHARE, starter_text

_LOOKED_AT = 2000
"""Rows from which the script of a table's texts is told."""


@dataclass(frozen=True, kw_only=True)
class Starter:
    """What each column was taken for, with the reason, the plan as commented TOML, and the rows it was made from."""

    guesses: list[Guess]
    text: str
    rows: pl.DataFrame
    notes: tuple[str, ...] = ()


def starter(
    table: object, label: str | None = None, *, file: str = "plan.toml", one_bit: int | None = None,
    encoding: str | None = None, header: bool | None = None,
) -> Starter:  # fmt: skip
    """Return a plan to start from for a table: the path of a file, or rows in Python as `tacit.run(rows=...)` takes them.

    `label` names the column to predict if the guess would be wrong; `file` is where the plan will be kept.
    With `one_bit`, weights leave as randomised bits, and rows without an owner are dealt to so many clients. `encoding` and
    `header` are as in `[data]`; a first line that looks like a row is taken for one, unless `header` says that it is none.
    """
    said, notes = Text(encoding=encoding, header=header), tuple[str, ...]()
    if not isinstance(table, str | Path):
        frame, _ = from_input_rows(table)
        source, name = GIVEN, "run"
    elif is_file_source(str(table)):
        frame, said, notes = _looked_at(str(table), said)
        source, name = _beside(Path(table), Path(file)), re.sub(r"[^\w-]+", "-", _stem(table)).strip("-")[:60] or "run"
    else:
        raise DataError(f"{table}: is of an unknown kind; a plan can be made from files that end in {ENDINGS}")
    guesses = guess_roles(frame, label)
    roles = {guess.column: guess.role for guess in guesses}
    rows, owners = _count_training_rows(frame, roles)
    latin = _latin(frame, [column for column, role in roles.items() if role == "text"])
    text = starter_text(
        roles, source, rows, owners, name, file,
        latin=latin, one_bit=one_bit, encoding=said.encoding, header=said.header,
    )  # fmt: skip
    return Starter(guesses=guesses, text=text, rows=frame, notes=notes)


def _count_training_rows(frame: pl.DataFrame, roles: Mapping[str, str]) -> tuple[int, int]:
    """How many rows, and of how many owners, the plan has to train on; raise DataError if it could not be run or tuned.

    The rows are read as a run of the plan reads them, and once more with validation rows, as `tacit tune` does.
    """
    data = Data(source=GIVEN, columns=_columns(roles), partition="client" if "client" in roles.values() else "iid", test=TEST_SHARE)
    draws = Draws.seeded(0).at("data")
    table = load(data, draws, frame)
    require_test_rows(table, data)
    try:
        require_test_rows(load(replace(data, validation=VALIDATION_SHARE), draws, frame), data)
    except DataError:
        raise DataError(
            f"the table has {table.train.height:,} rows to train on, too few to hold out others for choosing settings; give more "
            "rows"
        ) from None
    return table.train.height, most_clients(table, data) if table.columns.client else 0


def _columns(roles: Mapping[str, str]) -> Columns:
    """The columns table of a plan with these roles."""
    named = {role: tuple(column for column, its in roles.items() if its == role) for role in roles.values()}
    label, client, split = (next(iter(named.get(role, ())), None) for role in ("label", "client", "split"))
    text, numeric, categorical = (named.get(role, ()) for role in ("text", "numeric", "categorical"))
    return Columns(text=text, numeric=numeric, categorical=categorical, label=label, client=client, split=split)


def _latin(frame: pl.DataFrame, texts: list[str]) -> bool:
    """Return whether most letters of a table's texts are a-z, so that a list of English words may know them."""
    cells = pl.concat([frame[name].head(_LOOKED_AT).cast(pl.String) for name in texts]) if texts else pl.Series([""])
    letters, plain = (int(cells.str.count_matches(pattern).sum()) for pattern in (r"\p{L}", "[A-Za-z]"))
    return plain >= letters / 2


def _looked_at(source: str, said: Text) -> tuple[pl.DataFrame, Text, tuple[str, ...]]:
    """Return a file's table, what had to be assumed to read it, and sentences about that."""
    try:
        frame, note = read_file(source, said)
    except NoHeader:
        said = replace(said, header=False)
        frame, note = read_file(source, said)
        asked = f"The first line of {source} looks like a row: columns are column_1, column_2, …; --header if it holds names."
        return frame, said, (asked, *_sentence(note))
    return frame, said, _sentence(note)


def _sentence(note: str) -> tuple[str, ...]:
    plain = note.strip(" ()")
    return (f"{plain[0].upper()}{plain[1:]}.",) if plain else ()


def _stem(table: str | Path) -> str:
    """Return a file's name without its endings: "visits" for "visits.csv.gz"."""
    path = Path(table)
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).stem


def _beside(table: Path, plan: Path) -> str:
    """Return how a plan names a file: by a path from the plan's own folder, unless the path is absolute."""
    here = plan.parent
    if table.expanduser().is_absolute() or str(table).startswith("~") or here == Path():
        return str(table)
    return os.path.relpath(table, here)
