"""tacit init: a plan to start from, for the example or for a table of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.errors import PlanError

if TYPE_CHECKING:
    from tacit.data import Starter

Target = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the plan.")]
Table = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="TABLE",
        help="A table of your own: .csv .tsv .txt .data .jsonl .xlsx .parquet .arrow, or .gz .zst of these",
        show_default=False,
    ),
]
Label = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="With --from: the column to predict.", show_default=False)
]
OneBit = Annotated[
    int | None,
    typer.Option(
        "--one-bit", metavar="CLIENTS", min=2, show_default=False,
        help="With --from: one randomised bit per weight, on so many clients; for dozens or hundreds of them.",
    ),
]  # fmt: skip
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="With --from: the file's encoding, such as cp1252.", show_default=False),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="With --from: whether the first line holds names.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]


def init(
    file: Target = Path("plan.toml"),
    table: Table = None,
    label: Label = None,
    one_bit: OneBit = None,
    encoding: Encoding = None,
    header: Header = None,
    force: Force = False,
) -> None:
    """Write a plan with comments, for the 20 Newsgroups example or for a table of your own.

    With --from, the table is read, the role of each column is guessed, and
    the guesses are printed with their reasons. Change them in the file.

    \b
    Examples:
      tacit init
      tacit init --from my.csv
      tacit init visits.toml --from visits.parquet --label readmitted
      tacit init --from my.csv --one-bit 100
      tacit init --from old.data --no-header --encoding cp1252
    """
    from tacit.data import starter
    from tacit.plan.starter import EXAMPLE

    if file.exists() and not force:
        raise PlanError(f"{file}: is there already; choose another name or overwrite it with --force")
    for option, value in (("--label", label), ("--one-bit", one_bit), ("--encoding", encoding), ("--header", header)):
        if value is not None and table is None:
            raise PlanError(f"{option}: has no meaning without --from TABLE")
    text = EXAMPLE
    if table:
        text = _own(starter(table, label, file=str(file), one_bit=one_bit, encoding=encoding, header=header), file)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PlanError(f"{file}: cannot be written ({error.strerror}); choose another place") from None
    tables.line(f"wrote {file}; next: tacit run {file}")


def _own(start: Starter, file: Path) -> str:
    tables.table(("column", "role", "because"), [(one.column, one.role, one.why) for one in start.guesses], prose=range(3))
    for note in start.notes:
        tables.say(note)
    tables.say(f"To change a role, edit [data.columns] in {file}.")
    if said := _wordless(start):
        tables.say(said)
    return start.text


def _wordless(start: Starter) -> str:
    """Return a warning if many texts of the table have no word."""
    from tacit.features import wordless_texts
    from tacit.plan import Columns, Features
    from tacit.report import phrasing

    texts = tuple(guess.column for guess in start.guesses if guess.role == "text")
    if not texts:
        return ""
    count = wordless_texts(start.rows, Columns(text=texts), Features(words="unicode"))
    return phrasing.wordless(count, start.rows.height)
