"""Differences between methods, seed by seed: both have the same clients, rows and initial weights."""

from __future__ import annotations

from dataclasses import replace

from tacit_papers.published import PaperCell, PaperTable

GLOBAL, LOCAL = "global, best round", "local, best round"
_ALONE = {GLOBAL: "global_accuracy", LOCAL: "local_accuracy"}
"""Local-only training has no rounds; its model after training is compared with the best round."""


def minus(first: str, second: str) -> str:
    """The name of the row with the difference of two others."""
    return f"{first} minus {second}"


def add_differences(*tables: PaperTable) -> tuple[PaperTable, ...]:
    """The tables, each followed by a table of differences."""
    return tuple(one for table in tables for one in (table, _differences(table)))


def _differences(table: PaperTable) -> PaperTable:
    """FedVocab minus every other row, or every other row minus FedAvg if no row is called FedVocab."""
    rows = list(dict.fromkeys(cell.row for cell in table.cells))
    pairs = [("FedVocab", row) for row in rows if row != "FedVocab"] if "FedVocab" in rows else []
    pairs += [
        (row, "FedAvg") for row in rows if row not in ("FedAvg", "FedVocab") and "FedAvg" in rows
    ]
    trained, varied = "trained tables, adaptive pass", "varied public tables, adaptive pass"
    pairs += [(trained, varied)] if varied in rows else []
    cells = tuple(_cell(table, pair, column) for pair in pairs for column in (GLOBAL, LOCAL))
    note = "Differences in the previous table, seed by seed."
    return replace(
        table,
        name=f"{table.name}-differences",
        title=f"{table.title}, differences",
        cells=cells,
        note=note,
    )


def _cell(table: PaperTable, pair: tuple[str, str], column: str) -> PaperCell:
    mine, other = (_find_cell(table, row, column) for row in pair)
    both = tuple(
        seed for seed in mine.trial.seeds if seed in other.trial.seeds
    )  # some rows have more than others
    return PaperCell(
         row=minus(*pair), column=column, paper=None, trial=replace(mine.trial, seeds=both),
        metric=mine.metric, minus=replace(other.trial, seeds=both), minus_metric=other.metric,
    )  # fmt: skip


def _find_cell(table: PaperTable, row: str, column: str) -> PaperCell:
    cells = {cell.column: cell for cell in table.cells if cell.row == row}
    return (
        cells[column]
        if column in cells
        else next(cell for cell in cells.values() if cell.metric == _ALONE[column])
    )
