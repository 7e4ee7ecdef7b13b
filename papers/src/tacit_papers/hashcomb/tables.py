"""HashComb's Tables 2 to 5 as cells, with the differences on which its claims rest."""

from __future__ import annotations

from tacit.reproduction import Scale
from tacit_papers.hashcomb import printed
from tacit_papers.hashcomb.settings import (
    COST,
    alone,
    arms,
    build_four_round_trial,
    build_many_round_trial,
    plain,
    sklearn_baseline,
)
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

F1, BEST = "f1_weighted", "best_f1_weighted"


def build_cell(
    row: str, column: str, paper: float, trial: PaperTrial, metric: str, *, again: bool = False
) -> PaperCell:
    """A cell with a printed number and ours."""
    return PaperCell(
        row=row, column=column, paper=paper, trial=trial, metric=metric, digits=4, again=again
    )


def monolithic(scale: Scale) -> PaperTable:
    """Table 2."""
    note = (
        "All training rows in one place. Here and below, F1 is that of both classes, weighted by"
        " their share of the test rows; the printed pairs of accuracy and F1 agree with this."
    )
    cells = []
    for name, row in printed.SETS.items():
        paper, trial = printed.ALONE[name], alone(scale, name)
        cells.append(build_cell(row, "accuracy", paper.accuracy, trial, "accuracy"))
        cells.append(build_cell(row, "F1", paper.f1, trial, F1))
        cells.append(
            PaperCell(row=row, column="F1 of label 1", paper=None, trial=trial, metric="f1")
        )
    return PaperTable(name="2", title="Central training", cells=tuple(cells), note=note, cost=COST)


def compare_one_place(scale: Scale) -> PaperTable:
    """Table 2 next to the library against which the authors checked their program, and next to four
    clients.
    """
    cells = []
    for name, row in printed.SETS.items():
        library = sklearn_baseline(scale, name)
        cells.append(
            PaperCell(row=row, column="one place", paper=None, trial=alone(scale, name), metric=F1)
        )
        cells.append(
            PaperCell(row=row, column="scikit-learn", paper=None, trial=library, metric=F1)
        )
        cells.append(
            PaperCell(
                row=row,
                column="four clients",
                paper=None,
                trial=build_four_round_trial(scale, name, plain()),
                metric=F1,
            )
        )
    note = (
        "F1, all at one scale. scikit-learn is MLPClassifier with the same layers, one batch of all"
        " rows, no momentum and no regularisation; four clients are NoHC of Table 3."
    )
    title = "Table 2 next to scikit-learn and four clients"
    return PaperTable(name="2-baselines", title=title, cells=tuple(cells), note=note, cost=COST)


def four_rounds(scale: Scale) -> PaperTable:
    """Table 3."""
    note = "F1 after the last round; mean over seeds."
    return PaperTable(
        name="3",
        title="Four clients, four rounds",
        cells=_list_four_round_cells(scale, F1),
        note=note,
    )


def four_rounds_best(scale: Scale) -> PaperTable:
    """Table 3 at the best of its rounds."""
    note = (
        "As Table 3, at the best of its rounds by F1 on the test rows, which is optimistic for"
        " every arm."
    )
    return PaperTable(
        name="3-best",
        title="Table 3 at the best round",
        cells=_list_four_round_cells(scale, BEST),
        note=note,
    )


def _list_four_round_cells(scale: Scale, metric: str) -> tuple[PaperCell, ...]:
    """Cells for each data set and arm of Table 3, by one metric."""
    return tuple(
        build_cell(
            row,
            arm,
            printed.FOUR_ROUNDS[name][arm],
            build_four_round_trial(scale, name, codec),
            metric,
            again=metric == F1,
        )
        for name, row in printed.SETS.items()
        for arm, codec in arms(name).items()
    )


def differences(scale: Scale) -> PaperTable:
    """What each arm of Table 3 loses against weights in the clear, seed by seed."""
    cells = []
    for name, row in printed.SETS.items():
        paper, clear = printed.FOUR_ROUNDS[name], build_four_round_trial(scale, name, plain())
        for arm, codec in list(arms(name).items())[1:]:
            trial = build_four_round_trial(scale, name, codec)
            lost = round(paper[arm] - paper["NoHC"], 4)
            cells.append(
                PaperCell(
                    row=row,
                    column=arm,
                    paper=lost,
                    trial=trial,
                    minus=clear,
                    metric=F1,
                    digits=4,
                    again=True,
                )
            )
    note = "F1 after the last round minus that of NoHC with the same rows and initial model."
    return PaperTable(
        name="3-differences",
        title="Table 3 compared with weights in the clear",
        cells=tuple(cells),
        note=note,
    )


def many_rounds(scale: Scale) -> PaperTable:
    """Table 4, and the last round next to its best."""
    cells = []
    for name, row in printed.SETS.items():
        for arm, paper in printed.MANY_ROUNDS[name].items():
            if arm == "DP":
                continue
            trial = build_many_round_trial(scale, name, arms(name)[arm])
            cells.append(build_cell(row, f"{arm}, best round", paper, trial, BEST))
            cells.append(build_cell(row, f"{arm}, last round", paper, trial, F1, again=True))
            cells.append(
                PaperCell(
                    row=row,
                    column=f"{arm}, which round",
                    paper=None,
                    trial=trial,
                    metric="best_round",
                )
            )
    note = (
        "The publication prints the best round. The same number is shown"
        " next to our last round, the result of a run that does not use the test rows."
    )
    return PaperTable(
        name="4", title="Four clients, many rounds", cells=tuple(cells), note=note, cost=COST
    )


TABLES = (monolithic, compare_one_place, four_rounds, four_rounds_best, differences, many_rounds)
