"""tacit init: a plan to start from, for the example or for a table of one's own."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
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
            "A table of your own: .csv .tsv .txt .data .json .jsonl .xlsx .parquet .arrow, or .gz"
            " .zst of these"
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
        help="With --from: the column that says who owns a row.",
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
        help="With --from: the privacy loss per client and run; else 8.",
    ),
]
TestRows = Annotated[
    Path | None,
    typer.Option(
        "--test",
        metavar="TABLE",
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
        help="With --from: one randomised bit per weight, on so many clients; for dozens or hundreds of them.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="With --from: the file's encoding, such as cp1252.",
        show_default=False,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="With --from: whether the first line holds names.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]


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
    force: Force = False,
) -> None:
    """Write a plan with comments, for the 20 Newsgroups example or for a table of your own.

    With --from, the table is read, the role of each column is guessed, and
    the guesses are printed with their reasons. Personal data is left out.
    Change roles in the file, or say them with --label, --client and --text.

    \b
    Examples:
      tacit init
      tacit init --from my.csv
      tacit init visits.toml --from visits.parquet --label readmitted --client patient_id
      tacit init --from my.csv --test later.csv --epsilon 2    (per run)
      tacit init --from my.csv --one-bit 100
      tacit init --from old.data --no-header --encoding cp1252
    """
    from tacit.data import StarterRequest
    from tacit.plan.presets.starter import EXAMPLE

    if file != _STDOUT and file.exists() and not force:
        raise PlanError(
            f"{file}: is there already; choose another name or overwrite it with --force"
        )
    if len(table or ()) > 1:
        raise PlanError(
            "--from: takes one table; join the tables first. Test rows may be in a file of their"
            " own: --test TABLE"
        )
    if epsilon is not None and one_bit is not None:
        raise PlanError(
            "--epsilon: has no meaning with --one-bit, whose epsilon is per bit; leave one of the"
            " two out"
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
    if not table and asked != StarterRequest():
        options = {
            "--label": label,
            "--client": client,
            "--text": text,
            "--epsilon": epsilon,
            "--test": test,
            "--one-bit": one_bit,
        }
        given = [
            option
            for option, value in {**options, "--encoding": encoding, "--header": header}.items()
            if value
        ]
        raise PlanError(f"{given[0] if given else '--header'}: has no meaning without --from TABLE")
    _write(_own(table[0], asked, file) if table else EXAMPLE, file)


def _write(text: str, file: Path) -> None:
    if file == _STDOUT:
        tables.line(text.rstrip("\n"))
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PlanError(
            f"{file}: cannot be written ({error.strerror}); choose another place"
        ) from None
    tables.line(f"wrote {file}; next: tacit run {file}")


def _own(table: Path, asked: StarterRequest, file: Path) -> str:
    """Make the plan for a table and print what was guessed; where the plan itself is printed,
    sentences go to stderr.
    """
    from tacit.simulation.advice.starter import make_starter

    kept = "plan.toml" if file == _STDOUT else str(file)
    start = make_starter(table, asked, file=kept)
    if file != _STDOUT and (chosen := _ask_owner(start)):
        start = make_starter(table, replace(asked, client=chosen), file=kept)
    notes = [*start.notes, *_warnings(start)]
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
    """Ask who owns a row where that is unclear and somebody sits at the terminal; nothing if the
    guess is to stay.
    """
    if not start.owners or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return ""
    taken = next((guess.column for guess in start.guesses if guess.role == "client"), "")
    offered = ", ".join(filter(None, [taken, *start.owners]))
    answer = str(
        typer.prompt(
            f"Which column says who owns a row ({offered})? Enter: {taken or 'none'}",
            default="",
            show_default=False,
        )
    )
    return answer.strip() if answer.strip() != taken else ""


def _warnings(start: Starter) -> list[str]:
    """Sentences about texts without words, and about too few people for the promise."""
    return [said for said in (_wordless(start),) if said]


def _wordless(start: Starter) -> str:
    """Return a warning if many texts of the table have no word."""
    from tacit.features import count_wordless_texts
    from tacit.plan import Columns, Features
    from tacit.report import phrasing

    if not start.texts:
        return ""
    count = count_wordless_texts(start.rows, Columns(text=start.texts), Features(words="unicode"))
    return phrasing.warn_of_wordless_texts(count, start.rows.height)
