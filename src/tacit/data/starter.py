"""A plan to start from for a table: the roles of its columns guessed, and settings that fit them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tacit.data.guess_roles import Guess, guess_roles
from tacit.data.input_rows import from_input_rows
from tacit.data.read import is_file_source, read_file
from tacit.errors import DataError
from tacit.plan import GIVEN
from tacit.plan.starter import starter_text

_LOOKED_AT = 2000
"""Rows from which the script of a table's texts is told."""


@dataclass(frozen=True, kw_only=True)
class Starter:
    """What each column was taken for, with the reason, the plan as commented TOML, and the rows it was made from."""

    guesses: list[Guess]
    text: str
    rows: pl.DataFrame


def starter(table: object, label: str | None = None, *, file: str = "plan.toml", one_bit: int | None = None) -> Starter:
    """Return a plan to start from for a table: the path of a file, or rows in Python as `tacit.run(rows=...)` takes them.

    `label` names the column to predict if the guess would be wrong; `file` is where the plan will be kept.
    With `one_bit`, weights leave as randomised bits, and rows without an owner are dealt to so many clients.
    """
    if not isinstance(table, str | Path):
        frame, _ = from_input_rows(table)
        source, name = GIVEN, "run"
    elif is_file_source(str(table)):
        frame, _ = read_file(str(table))
        source, name = str(table), re.sub(r"[^\w-]+", "-", Path(table).stem).strip("-")[:60] or "run"
    else:
        raise DataError(f"{table}: is of an unknown kind; a plan can be made from .csv, .tsv, .jsonl, .parquet and .arrow files")
    guesses = guess_roles(frame, label)
    roles = {guess.column: guess.role for guess in guesses}
    owners = next((frame[column].n_unique() for column, role in roles.items() if role == "client"), 0)
    latin = _latin(frame, [column for column, role in roles.items() if role == "text"])
    text = starter_text(roles, source, frame.height, owners, name, file, latin=latin, one_bit=one_bit)
    return Starter(guesses=guesses, text=text, rows=frame)


def _latin(frame: pl.DataFrame, texts: list[str]) -> bool:
    """Return whether most letters of a table's texts are a-z, so that a list of English words may know them."""
    cells = pl.concat([frame[name].head(_LOOKED_AT).cast(pl.String) for name in texts]) if texts else pl.Series([""])
    letters, plain = (int(cells.str.count_matches(pattern).sum()) for pattern in (r"\p{L}", "[A-Za-z]"))
    return plain >= letters / 2
