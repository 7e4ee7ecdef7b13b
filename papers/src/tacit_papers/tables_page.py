"""All tables of a paper as one page: claims with the figures that decided them, pictures, and our
values next to the printed ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tacit.reproduction import JudgedClaim, Scale
from tacit_papers.published import At, CellOutcome, PaperTable
from tacit_papers.settings_note import describe_settings
from tacit_papers.wording import format_estimate, format_number

if TYPE_CHECKING:
    from tacit_papers.paper import Paper

_RESULTS = ("<!-- results: written by tacit reproduce, do not edit -->", "<!-- end of results -->")
_LONG_NOTE = 120
_MARKS = {"above": " ▲", "below": " ▼", "same": " =", None: ""}
_TOO_WIDE = " ~"


class TableAtScale(NamedTuple):
    """One table at a scale. On a page, cells that were not run at that scale show another scale's
    value.
    """

    scale: Scale
    table: PaperTable
    outcomes: list[CellOutcome]


def render(paper: Paper, verdicts: list[JudgedClaim], shown: list[TableAtScale], docs: Path) -> str:
    """Render claims with figures, pictures and tables as a Markdown page: each cell shows our
    estimate with its interval and the printed number in brackets.
    """
    outcomes = [outcome for one in shown for outcome in one.outcomes]
    title = paper.title.partition(":")[0]
    lines = [
        f"# {title}: all tables",
        "",
        _RESULTS[0],
        "",
        (
            f"[The page of the paper](../{paper.name}.md) says what follows from these figures."
            f" `tacit reproduce {paper.name} --out docs` writes this page from the runs."
        ),
        "",
        *_render_evidence(verdicts),
        "## How to read the tables",
        "",
        _explain_cells(outcomes),
        "",
        *(
            f"- {scale}: {paper.scales[scale]}"
            for scale in dict.fromkeys(outcome.scale for outcome in outcomes)
        ),
        "",
    ]
    for picture in paper.pictures:
        name = name_picture(paper, picture.name)
        if (docs / "img" / name).exists():
            lines += [f"![{picture.title}](../../img/{name})", ""]
            lines += [f"{picture.title}. Circles are printed.", ""]
    said: dict[str, str] = {}
    usual = {scale: _count_usual_seeds(paper, scale) for scale in {one.scale for one in shown}}
    for one in shown:
        lines += _render_table(one, said)
        lines += [
            f"{describe_settings(one.outcomes)}"
            f" `tacit reproduce {paper.name} --table {one.table.name} --scale {one.scale}{_ask_seeds(one, usual[one.scale])}`",
            "",
        ]
        lines += _explain_missing(paper, one)
    return "\n".join([*lines, _RESULTS[1], ""])


def _render_evidence(verdicts: list[JudgedClaim]) -> list[str]:
    """The claims with all figures that decided them, and printed sizes on a line of their own."""
    lines = ["## Claims and figures", ""]
    for number, one in enumerate(verdicts, 1):
        lines += [f"{number}. {one.claim} ({one.where}): **{one.verdict}**.", ""]
        lines += [f"    - {words}" for words in one.figures]
        lines += [f"    - printed size: {words}" for words in one.size]
        lines += [""] if one.figures or one.size else []
    return lines


def _explain_cells(outcomes: list[CellOutcome]) -> str:
    """Explain a cell, and count the printed numbers once each by where ours lie."""
    counted = [one for one in outcomes if one.cell.paper is not None and not one.cell.again]
    places = [one.place for one in counted if one.place is not None]
    wide = sum(one.is_too_wide for one in counted)
    return (
        "Each cell is ours (the paper's); ± is a 95 % interval over seeds, – a cell that was not"
        f" run. Of {len(places)} printed numbers with at least three seeds of ours,"
        f" {places.count('same')} could be one more seed of ours (=), ours lie above"
        f" {places.count('above')} (▲) and below {places.count('below')} (▼). A further {wide}"
        " have an interval wider than the effect that their table shows and count as nothing (~)."
        " A number that the paper prints once counts once, at its best round. Each table names the"
        " scale it was run at; cells that were run at another have its first letter:"
    )


def _ask_seeds(shown: TableAtScale, usual: Mapping[At, int]) -> str:
    """The option that repeats a table, if a cell has more seeds than its scale asks for."""
    counts = [
        one.ours.seeds
        for one in shown.outcomes
        if one.ours is not None
        and one.scale == shown.scale
        and one.ours.seeds > usual.get(one.at, one.ours.seeds)
    ]
    return f" --min-seeds {max(counts)}" if counts else ""


def _count_usual_seeds(paper: Paper, scale: Scale) -> dict[At, int]:
    """How many seeds a paper's cells have at a scale, without further ones."""
    return {
        At(table.name, cell.row, cell.column): len(cell.trial.seeds)
        for table in paper.tables(scale)
        for cell in table.cells
    }


def _explain_missing(paper: Paper, shown: TableAtScale) -> list[str]:
    """Say why a table is incomplete at the paper's scale and which command runs the rest; empty if
    it is complete.
    """
    if all(outcome.scale == "full" and outcome.ours is not None for outcome in shown.outcomes):
        return []
    cost = f": {shown.table.cost}" if shown.table.cost else ""
    command = f"`tacit reproduce {paper.name} --table {shown.table.name} --scale full --out docs`"
    return [
        f"Not all run at the full scale{cost}. The rest, table by table if you prefer: {command}.",
        "",
    ]


def _render_table(shown: TableAtScale, said: dict[str, str]) -> list[str]:
    """Render a table with its note; a long note that an earlier table already has is replaced by a
    reference. `said` maps notes to their first tables; this table's note is added.
    """
    table, outcomes = shown.table, shown.outcomes
    rows = list(dict.fromkeys(outcome.cell.row for outcome in outcomes))
    columns = list(dict.fromkeys(outcome.cell.column for outcome in outcomes))
    at = {outcome.at: outcome for outcome in outcomes}
    head = (
        f"### Table {table.name}. {table.title}" if table.name.isdigit() else f"### {table.title}"
    )
    lines = [head, "", f"| | {' | '.join(columns)} |", f"|---{'|---' * len(columns)}|"]
    for row in rows:
        lines.append(
            f"| {row} |"
            f" {' | '.join(_render_cell(at.get(At(table.name, row, column)), shown.scale) for column in columns)} |"
        )
    first = said.setdefault(table.note, table.title)
    again = first != table.title and len(table.note) > _LONG_NOTE
    note = f"The note under “{first}” applies here too." if again else table.note
    return [*lines, "", *([note, ""] if note else [])]


def _render_cell(outcome: CellOutcome | None, scale: Scale) -> str:
    if outcome is None:
        return ""
    paper = f" ({format_number(outcome.cell.paper)})" if outcome.cell.paper is not None else ""
    other = "" if outcome.scale == scale else f" <sup>{outcome.scale[0]}</sup>"
    mark = _TOO_WIDE if paper and outcome.is_too_wide else _MARKS[outcome.place]
    return f"{'–' if outcome.ours is None else format_estimate(outcome.ours)}{paper}{mark}{other}"


def name_picture(paper: Paper, name: str) -> str:
    """The file name of a picture."""
    return f"{paper.name}-{name}.svg"
