"""tacit init: write a plan, for the example or for a user's own table."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import Encoding, Force, Header
from tacit.errors import PlanError

if TYPE_CHECKING:
    from tacit.data import Starter, StarterRequest

_STDOUT = Path("-")

Target = Annotated[
    Path, typer.Argument(metavar="FILE", help="Where to write the plan; - prints it.")
]
Tables = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        metavar="TABLE",
        help=(
            "Your own table: .csv .tsv .txt .data .json .jsonl .xlsx .parquet .arrow, also"
            " compressed (.gz, .zst)."
        ),
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", metavar="COLUMN", help="With --from: the column to predict.", show_default=False
    ),
]
Client = Annotated[
    str | None,
    typer.Option(
        "--client",
        metavar="COLUMN",
        help="With --from: the column that identifies the client (person) of each row.",
        show_default=False,
    ),
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="With --from: a column to read as text; may be repeated.",
        show_default=False,
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        metavar="X",
        min=1e-3,
        max=50,
        show_default=False,
        help="With --from: epsilon per client and run; 8 by default.",
    ),
]
TestRows = Annotated[
    Path | None,
    typer.Option(
        "--test",
        metavar="FILE",
        help="With --from: a file with the test rows.",
        show_default=False,
    ),
]
OneBit = Annotated[
    int | None,
    typer.Option(
        "--one-bit",
        metavar="CLIENTS",
        min=2,
        show_default=False,
        help="With --from: one randomised bit per weight, for this number of clients; suits dozens or hundreds.",
    ),
]
Example = Annotated[
    str | None,
    typer.Option(
        "--example",
        metavar="NAME",
        help="Write an example's plan; --example list shows their names.",
        show_default=False,
    ),
]


def init(
    file: Target = Path("plan.toml"),
    table: Tables = None,
    label: Label = None,
    client: Client = None,
    text: TextColumns = None,
    epsilon: Epsilon = None,
    test: TestRows = None,
    one_bit: OneBit = None,
    encoding: Encoding = None,
    header: Header = None,
    example: Example = None,
    force: Force = False,
) -> None:
    """Write a plan with comments, for an example or your own table.

    Without options it is the 20 Newsgroups example. With --from, Tacit reads
    the table, guesses the role of each column and prints each guess with a
    reason. Columns with personal data are left out.
    To change a role, edit the file or use --label, --client and --text.

    \b
    Examples:
      tacit init
      tacit init imdb.toml --example imdb_private
      tacit init --from my.csv
      tacit init visits.toml --from visits.parquet --label readmitted --client patient_id
      tacit init --from my.csv --test later.csv --epsilon 2    (per run)
      tacit init --from my.csv --one-bit 100
      tacit init --from old.data --no-header --encoding cp1252
    """
    from tacit.data import StarterRequest
    from tacit.plan.presets.starter import EXAMPLE

    if example == "list":
        _show_examples()
        return
    if file != _STDOUT and file.exists() and not force:
        raise PlanError(f"{file} already exists; choose another name or overwrite it with --force")
    if len(table or ()) > 1:
        raise PlanError(
            "--from takes one table; join the tables first. Test rows may be in a separate file:"
            " --test FILE"
        )
    if epsilon is not None and one_bit is not None:
        raise PlanError(
            "--epsilon cannot be combined with --one-bit, whose epsilon is per bit; remove one of"
            " them"
        )
    asked = StarterRequest(
        label=label,
        client=client,
        text=tuple(text or ()),
        epsilon=epsilon,
        one_bit=one_bit,
        encoding=encoding,
        header=header,
        test_source=str(test) if test else None,
    )
    if example is not None and (table or asked != StarterRequest()):
        raise PlanError("--example cannot be combined with --from; remove one of them")
    if not table and asked != StarterRequest():
        raise PlanError(f"{_name_option(asked)} requires --from TABLE")
    if example is not None:
        from tacit.plan.presets.examples import read_example

        _write(read_example(example, str(file)), file)
    else:
        _write(_make_plan(table[0], asked, file) if table else EXAMPLE, file)


def _show_examples() -> None:
    """Print the name of each example and the first sentence of its comment."""
    from tacit.plan.presets.examples import list_examples

    tables.table(("example", "plan"), list(list_examples().items()), prose=[1])


def _name_option(asked: StarterRequest) -> str:
    """The first option that was given."""
    options = {
        "--label": asked.label,
        "--client": asked.client,
        "--text": asked.text,
        "--epsilon": asked.epsilon,
        "--test": asked.test_source,
        "--one-bit": asked.one_bit,
        "--encoding": asked.encoding,
    }
    return next((option for option, value in options.items() if value), "--header")


def _write(text: str, file: Path) -> None:
    if file == _STDOUT:
        tables.line(text.rstrip("\n"))
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PlanError(
            f"{file} cannot be written ({error.strerror}); choose another path"
        ) from None
    tables.line(f"wrote {file}; next: tacit check {file}")


def _make_plan(table: Path, asked: StarterRequest, file: Path) -> str:
    """Make the plan for a table and print the guesses; on stderr if the plan goes to stdout."""
    from tacit.simulation.advice.starter import make_starter

    kept = "plan.toml" if file == _STDOUT else str(file)
    start = make_starter(table, asked, file=kept)
    if file != _STDOUT and (chosen := _ask_owner(start)):
        start = make_starter(table, replace(asked, client=chosen), file=kept)
    notes = [*start.notes, *filter(None, [_warn_of_wordless_texts(start)])]
    if file == _STDOUT:
        for note in notes:
            tables.line(note, stderr=True)
        return start.text
    tables.table(
        ("column", "role", "because"),
        [(one.column, one.role, one.why) for one in start.guesses],
        prose=range(3),
    )
    for note in notes:
        tables.say(note)
    tables.say(f"To change a role, edit [data.columns] in {file}.")
    return start.text


def _ask_owner(start: Starter) -> str:
    """Ask for the client column if it is unclear and stdin is a terminal; empty to keep the guess."""
    if not start.owners or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return ""
    guess = next((guess.column for guess in start.guesses if guess.role == "client"), "")
    columns = ", ".join(filter(None, [guess, *start.owners]))
    answer = str(
        typer.prompt(
            f"Which column identifies the client of a row ({columns})? Enter: {guess or 'none'}",
            default="",
            show_default=False,
        )
    )
    return answer.strip() if answer.strip() != guess else ""


def _warn_of_wordless_texts(start: Starter) -> str:
    """A warning if many texts of the table contain no word."""
    from tacit.features import count_wordless_texts
    from tacit.plan import Columns, Features
    from tacit.report import phrasing

    if not start.texts:
        return ""
    count = count_wordless_texts(start.rows, Columns(text=start.texts), Features(words="unicode"))
    return phrasing.warn_of_wordless_texts(count, start.rows.height)
