"""Output of commands: tables and paragraphs, or one JSON object.

Text is wrapped on a terminal and not in a pipe. Every command prints through this module, so that
no name in the data can send control characters to the terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.printable import printable

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from tacit.report import Summary


_WIDE = 134
_WORD = 10
"""Terminal width from which tables are padded, and minimum width of a column of words."""


def console() -> Console:
    """The console for results. A pipe has no width, so nothing is wrapped in it."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 240, highlight=False, soft_wrap=False)


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    prose: Iterable[int] = (0,),
    strong: int | None = None,
) -> None:
    """Print a table; columns in `prose` are left-aligned and may wrap, the others are figures."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    page, words = console(), set(prose)
    headings = [printable(heading) for heading in headings]
    rows = [[printable(text) for text in row] for row in rows]
    narrow = page.width < _WIDE
    drawn = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0 if narrow else 1), header_style="bold"
    )
    for place, heading in enumerate(headings):
        title = Text(heading.replace("/", "/\n") if narrow else heading)
        # Words wrap before figures are truncated, down to a minimum width.
        least = (
            min(_WORD, max([len(heading), *(len(row[place]) for row in rows)]))
            if place in words
            else None
        )
        drawn.add_column(
            title,
            justify="left" if place in words else "right",
            no_wrap=place not in words,
            overflow="fold",
            min_width=least,
        )
    for number, row in enumerate(rows):
        # Text, not markup: a name like [red] is a name.
        drawn.add_row(*(Text(text) for text in row), style="bold" if number == strong else None)
    page.print(drawn)


def results(run: Summary) -> None:
    """Print a run's arms as rows, then missing sites, votes and the findings about the result."""
    from tacit.report import HEADINGS, list_cells
    from tacit.report.verdict import judge_run

    if run.privacy.owners:
        say(run.privacy.owners)
    if run.answers:
        _print_answers(run)
        return
    headings = [heading.replace(" / ", "/") for heading in HEADINGS]
    table(headings, [list_cells(arm) for arm in run.arms], prose=(0, len(HEADINGS) - 1), strong=0)
    for sentence in run.absences.sentences:
        say(sentence)
    if run.network:
        say(run.network.sentence)
    if run.votes:
        say(run.votes.sentence)
    for finding in judge_run(run):
        say(f"- {finding.sentence}")


def _print_answers(run: Summary) -> None:
    """Print the answers of a run with their intervals, what they leave out, and the guarantee."""
    from tacit.report.queries.answers import HEADINGS, describe_confidence, list_answer_cells

    table(HEADINGS, list_answer_cells(run.answers), prose=(0, 1))
    for answer in run.answers:
        if answer["note"]:
            say(f"- {answer['name']}: {answer['note']}.")
    say(describe_confidence(run.answers))
    for sentence in run.absences.sentences:
        say(sentence)
    ours = run.arm("run")
    if ours is not None:
        say(f"Privacy: {ours.privacy}.")


def say(text: str = "") -> None:
    """Print a paragraph on stdout literally, wrapped on a terminal, on one line in a pipe."""
    if sys.stdout.isatty():
        console().print(printable(text), markup=False, emoji=False)
    else:
        print(printable(text))


def line(text: str, *, stderr: bool = False) -> None:
    """Print a text literally and unwrapped, so that paths in it can be copied."""
    print(printable(text), file=sys.stderr if stderr else sys.stdout)


def csv(table: pl.DataFrame) -> None:
    """Print a table as CSV on stdout, with formulas and control characters made harmless."""
    text = csv_text(table)
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)


def csv_text(table: pl.DataFrame) -> str:
    """A table as CSV; cells and headings that look like a formula are prefixed with an apostrophe."""
    import polars as pl

    from tacit.cli.spreadsheet import escape_cell

    words = pl.selectors.string() | pl.selectors.categorical() | pl.selectors.enum()
    escaped = table.with_columns(
        words.cast(pl.String).map_elements(escape_cell, return_dtype=pl.String)
    )
    return escaped.rename(escape_cell).write_csv()


_HELD: ContextVar[list[dict[str, Any]] | None] = ContextVar("held", default=None)
"""The JSON object of the current command, until it is known whether the command failed."""


def print_json(schema: str, value: dict[str, Any]) -> None:
    """Print one JSON object on stdout; under `--json` when the command ends, so that it can contain
    an error. `schema` is a key of `outputs.OUTPUTS`, NAME/VERSION.
    """
    held, named = _HELD.get(), {"schema": f"tacit/{schema}", **value}
    if held is None:
        write_json(named)
    else:
        held.append(named)


def write_json(value: dict[str, Any]) -> None:
    """Write one JSON object to stdout now."""
    print(json.dumps(value, indent=2, allow_nan=False))


@contextmanager
def hold_json() -> Iterator[list[dict[str, Any]]]:
    """Collect the objects given to `print_json` instead of printing them."""
    held = list[dict[str, Any]]()
    token = _HELD.set(held)
    try:
        yield held
    finally:
        _HELD.reset(token)


def files(folder: Path) -> None:
    """Print the paths of a run's files, the report first."""
    names = {
        "report.html": "report",
        "model.safetensors": "model",
        "record.jsonl": "record",
        "plan.toml": "plan",
    }
    for name, what in names.items():
        if (folder / name).exists():
            line(f"{what + ':':8}{folder / name}")
