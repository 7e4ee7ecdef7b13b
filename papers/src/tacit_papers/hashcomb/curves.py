"""HashComb's Figures 4 to 6 as series by round, and the gains it claims."""

from __future__ import annotations

from collections.abc import Callable

from tacit.reproduction import Scale
from tacit_papers.hashcomb import printed
from tacit_papers.hashcomb.settings import (
    COST,
    MANY_ROUNDS,
    SIZES,
    Tree,
    arms,
    build_four_round_trial,
    build_many_round_trial,
    paper_gaussian,
    plain,
)
from tacit_papers.hashcomb.tables import BEST, F1
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

_Made = Callable[[Scale, str, Tree], PaperTrial]
_TENTHS = range(1, 11)
NOISE = "their noise"
"""The arm that the publication calls (2, 1e-3)-DP."""


def by_round(scale: Scale) -> PaperTable:
    """Figure 4: F1 after each of Table 3's rounds."""
    cells = [
         PaperCell( row=f"{row}, {arm}", column=f"round {number}", paper=None,
        trial=build_four_round_trial(scale, name, codec), metric=F1, round_no=number, ) for name, row in
        printed.SETS.items() for arm, codec in arms(name).items() for number in range(1, min(4,
        SIZES[scale].rounds) + 1)
    ]  # fmt: skip
    return PaperTable(
        name="fig4",
        title="Figure 4. F1 by round, four rounds",
        cells=tuple(cells),
        note="Means over Table 3's seeds; the publication prints curves without numbers.",
    )


def learnt_by_heart(scale: Scale) -> PaperTable:
    """Overfitting: how much better models do on training rows than on test rows, with coarse
    weights and in the clear.
    """
    cells = [
        PaperCell(
            row=row,
            column=f"{arm}, {words}",
            paper=None,
            trial=build_four_round_trial(scale, name, arms(name)[arm]),
            metric=metric,
        )
        for name, row in printed.SETS.items()
        for arm in ("NoHC", "HC4")
        for words, metric in (
            ("own rows", "train_accuracy"),
            ("test rows", "accuracy"),
            ("gap", "gap"),
        )
    ]
    note = (
        "Accuracy after the last round on the clients' own rows and on the test rows, of the runs of"
        " Table 3."
    )
    return PaperTable(
        name="fig4-gap", title="Figure 4. Own rows and test rows", cells=tuple(cells), note=note
    )


def over_many_rounds(scale: Scale) -> PaperTable:
    """Figures 5 and 6: F1 at each tenth of the runs of Tables 4 and 5."""
    cells = []
    for name, row in printed.SETS.items():
        rounds = min(MANY_ROUNDS[name], SIZES[scale].rounds)
        for arm, codec in {**arms(name), NOISE: paper_gaussian()}.items():
            if arm not in (NOISE, *printed.MANY_ROUNDS[name]):
                continue
            for tenth in _TENTHS:
                cells.append(
                     PaperCell( row=f"{row}, {arm}", column=f"{10 * tenth} %", paper=None,
                    trial=build_many_round_trial(scale, name, codec), metric=F1, round_no=max(1,
                    round(rounds * tenth / 10)), )
                )  # fmt: skip
    note = (
        "F1 on the test rows after each tenth of the rounds. The publication prints the curves"
        " without numbers. Their noise is Gaussian with variance .08."
    )
    return PaperTable(
        name="fig5",
        title="Figures 5 and 6. F1 by round, many rounds",
        cells=tuple(cells),
        note=note,
        cost=COST,
    )


def gains(scale: Scale) -> PaperTable:
    """The gain of HC8 over weights in the clear in four rounds, computed as the paper does."""
    cells = _gains(scale, build_four_round_trial, printed.FOUR_ROUNDS, None)
    return PaperTable(
        name="gains",
        title="Gain of HC8 over weights in the clear, four rounds",
        cells=cells,
        note=_GAINED,
    )


def gains_over_many(scale: Scale) -> PaperTable:
    """The gain of HC8 over weights in the clear in many rounds, where the paper claims a mean."""
    cells = _gains(scale, build_many_round_trial, printed.MANY_ROUNDS, printed.GAIN_OVER["NoHC"])
    title = "The claimed gain of HC8 over weights in the clear, many rounds"
    note = f"{_GAINED} The publication claims .006 at the best round."
    return PaperTable(name="gains-many", title=title, cells=cells, note=note, cost=COST)


_GAINED = (
    "(F1 of HC8 - F1 of NoHC) / F1 of NoHC, mean over seeds; the best round is the best by F1 on"
    " the test rows."
)


def _gains(
    scale: Scale, made: _Made, papers: dict[str, dict[str, float]], claimed: float | None
) -> tuple[PaperCell, ...]:
    cells = []
    for column, metric in (("best round", BEST), ("last round", F1)):
        parts = [
             PaperCell( row=row, column=column, paper=round(papers[name]["HC8"] / papers[name]["NoHC"] -
            1, 4), trial=made(scale, name, arms(name)["HC8"]), minus=made(scale, name, plain()),
            metric=metric, relative=True, again=True) for name, row in printed.SETS.items()
        ]  # fmt: skip
        mean = PaperCell(
             row="mean of the sets", column=column, paper=claimed, trial=parts[0].trial,
            metric=metric, parts=tuple(parts), again=metric == F1,
        )  # fmt: skip
        cells += [*parts, mean]
    return tuple(cells)


TABLES = (by_round, learnt_by_heart, over_many_rounds, gains, gains_over_many)
