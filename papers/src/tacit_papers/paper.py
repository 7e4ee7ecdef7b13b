"""A paper: its tables at a scale, its claims, and everything that `tacit reproduce` requires of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tacit.reproduction import (
    SCALES,
    ComparedRow,
    ComparedTable,
    OnRun,
    Reproduction,
    ReproductionOptions,
    Scale,
    TableSummary,
)
from tacit_papers import former, page, selection, wording
from tacit_papers.fill import fill_cells
from tacit_papers.published import CellOutcome, PaperTable, Runner

if TYPE_CHECKING:
    from tacit_papers.claims import PaperClaim
    from tacit_papers.pictures import Picture


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's tables at a scale, its claims, and the runners of its own kinds of trial."""

    name: str
    title: str
    first_words: str
    scales: Mapping[Scale, str]  # what each scale runs, in a sentence
    tables: Callable[[Scale], tuple[PaperTable, ...]]
    claims: tuple[PaperClaim, ...] = ()
    pictures: tuple[Picture, ...] = ()
    runners: Mapping[str, Runner] = field(default_factory=dict)

    def list_tables(self) -> list[TableSummary]:
        """List every table, as its largest scale has it, with the scales that have it."""
        found: dict[str, TableSummary] = {}
        for scale in SCALES:
            for table in self.tables(scale):
                smaller = found[table.name].scales if table.name in found else ()
                found[table.name] = TableSummary(table.name, table.title, (*smaller, scale))
        return list(found.values())

    def reproduce(self, options: ReproductionOptions, on_run: OnRun) -> Reproduction:
        """Carry out the runs that are missing; write the page and draw the figures if asked to."""
        chosen = selection.select_tables(self, options)
        before = former.read(self, options.page) if options.page else {}
        fill = partial(fill_cells, self, cache=options.cache, former=before)
        outcomes = fill(chosen, on_run=on_run, jobs=options.jobs)
        drawn = []
        if options.page:
            every = page.collect_scales(
                self,
                lambda some: fill(some, on_run=_ignore_progress, jobs=0),
                options.min_seeds,
            )
            page.write(self, every, options.page, pictures=options.figures is not None)
        elif options.figures:
            drawn = page.write_pictures(self, outcomes, options.figures)
        claims = []
        if options.scale != "smoke":
            whole = options.table is options.row is None
            judged = page.judge_claims(self, page.show_at(options.scale, chosen, outcomes))
            claims = [one for one in judged if whole or one.verdict != "not tested"]
        return Reproduction(
            tables=[_compare(table, outcomes) for table in chosen],
            claims=claims,
            cells=[one.as_json() for one in outcomes],
            drawn=drawn,
        )


def _ignore_progress(done: int, total: int, next_run: str | None) -> None:
    pass


def _compare(table: PaperTable, outcomes: Sequence[CellOutcome]) -> ComparedTable:
    rows = [
        ComparedRow(
            row=one.cell.row,
            column=one.cell.column,
            printed=wording.format_number(one.cell.paper),
            ours="–" if one.ours is None else wording.format_estimate(one.ours),
            seeds="" if one.ours is None or not one.ours.seeds else str(one.ours.seeds),
            place=one.place or "",
        )
        for one in outcomes
        if one.table == table.name
    ]
    return ComparedTable(name=table.name, title=table.title, note=table.note, rows=rows)
