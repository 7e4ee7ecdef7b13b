"""Select the tables and rows of a paper that a user asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.errors import PlanError, did_you_mean
from tacit.reproduction import ReproductionOptions
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

if TYPE_CHECKING:
    from tacit_papers.paper import Paper


def select_tables(paper: Paper, options: ReproductionOptions) -> tuple[PaperTable, ...]:
    """The tables asked for, each with only the rows asked for; raise PlanError if there are none."""
    tables = add_seeds(paper.tables(options.scale), options.min_seeds)
    if options.table is not None:
        tables = tuple(table for table in tables if table.name == options.table)
        if not tables:
            raise PlanError(_explain_unknown_table(paper, options.table, options.scale))
    return tables if options.row is None else _select_rows(tables, options.row)


def add_seeds(tables: tuple[PaperTable, ...], seeds: int | None) -> tuple[PaperTable, ...]:
    """The tables with at least this many seeds of each trial that has seeds; None adds none."""
    if seeds is None:
        return tables
    return tuple(
        replace(table, cells=tuple(_add_to_cell(cell, seeds) for cell in table.cells))
        for table in tables
    )


def _add_to_cell(cell: PaperCell, seeds: int) -> PaperCell:
    def add(trial: PaperTrial) -> PaperTrial:
        if not trial.seeds:
            return trial
        further = range(trial.seeds[0], trial.seeds[0] + seeds)
        return replace(trial, seeds=tuple(dict.fromkeys((*trial.seeds, *further))))

    return replace(
        cell,
        trial=add(cell.trial),
        minus=None if cell.minus is None else add(cell.minus),
        of=None if cell.of is None else add(cell.of),
        parts=tuple(_add_to_cell(part, seeds) for part in cell.parts),
    )


def _explain_unknown_table(paper: Paper, name: str, scale: str) -> str:
    """Say at which scales a table exists that this scale lacks, or which tables exist."""
    scales = {table.name: table.scales for table in paper.list_tables()}
    if name in scales:
        others = " or ".join(f"--scale {one}" for one in scales[name])
        return (
            f"--table {name}: {paper.name} has no such table at --scale {scale}; it exists at"
            f" {others}"
        )
    return (
        f"--table {name}: {paper.name} has tables"
        f" {', '.join(scales)}.{did_you_mean(name, list(scales))}"
    )


def _select_rows(tables: tuple[PaperTable, ...], text: str) -> tuple[PaperTable, ...]:
    cut = (replace(table, cells=_select_cells(table, text.lower())) for table in tables)
    found = tuple(table for table in cut if table.cells)
    if not found:
        rows = list(dict.fromkeys(cell.row for table in tables for cell in table.cells))
        raise PlanError(
            f"--row {text}: no row has this text; rows are"
            f" {', '.join(rows[:20])}{', …' if len(rows) > 20 else ''}"
        )
    return found


def _select_cells(table: PaperTable, text: str) -> tuple[PaperCell, ...]:
    """The cells of the row of that name, ignoring case; if there is none, of all rows whose name
    contains it.
    """
    exact = tuple(cell for cell in table.cells if cell.row.lower() == text)
    return exact or tuple(cell for cell in table.cells if text in cell.row.lower())
