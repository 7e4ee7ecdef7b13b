"""A plan to start from for a table: the roles of its columns guessed, and settings that fit them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tacit.data.guess_roles import Guess, guess_roles
from tacit.data.input_rows import from_input_rows
from tacit.data.read import is_file_source, read_file
from tacit.errors import DataError
from tacit.plan import GIVEN
from tacit.plan.starter import starter_text


@dataclass(frozen=True, kw_only=True)
class Starter:
    """What each column was taken for, with the reason, and the plan as commented TOML."""

    guesses: list[Guess]
    text: str


def starter(table: object, label: str | None = None, *, file: str = "plan.toml") -> Starter:
    """Return a plan to start from for a table: the path of a file, or rows in Python as `tacit.run(rows=...)` takes them.

    `label` names the column to predict if the guess would be wrong; `file` is where the plan will be kept.
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
    return Starter(guesses=guesses, text=starter_text(roles, source, frame.height, owners, name, file))
