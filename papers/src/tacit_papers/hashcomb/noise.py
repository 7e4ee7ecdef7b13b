"""HashComb next to noise: Table 5 with the paper's own baseline, and a correct DP-FedAvg at the
same budget.
"""

from __future__ import annotations

from tacit.reproduction import Scale
from tacit_papers.hashcomb import printed
from tacit_papers.hashcomb.ours import short
from tacit_papers.hashcomb.settings import (
    COST,
    SIZES,
    Tree,
    build_many_round_trial,
    hashcomb,
    paper_gaussian,
    plain,
    plan,
)
from tacit_papers.hashcomb.tables import BEST, F1, build_cell
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

BUDGET = {"epsilon": 2.0, "delta": 1e-3}
_CLIPS = [0.01, 0.1, 1.0]
_ROUNDS, _EPOCHS = 8, 1_000


def table_5(scale: Scale) -> PaperTable:
    """Table 5, the last round next to the best, and the gain it claims over its baseline."""
    cells: list[PaperCell] = []
    gains: dict[str, list[PaperCell]] = {BEST: [], F1: []}
    for name, row in printed.SETS.items():
        arms = {"NoHC": plain(), "DP": paper_gaussian(), "HC8": hashcomb(name, 8)}
        trials = {arm: build_many_round_trial(scale, name, codec) for arm, codec in arms.items()}
        for arm, trial in trials.items():
            paper, title = printed.MANY_ROUNDS[name][arm], "their (2, 1e-3)" if arm == "DP" else arm
            cells.append(
                build_cell(row, f"{title}, best round", paper, trial, BEST, again=arm != "DP")
            )
            cells.append(build_cell(row, f"{title}, last round", paper, trial, F1, again=True))
        for metric in gains:
            printed_gain = round(
                printed.MANY_ROUNDS[name]["HC8"] / printed.MANY_ROUNDS[name]["DP"] - 1, 4
            )
            gains[metric].append(
                 PaperCell( row=row,
                column=f"gain of HC8, {'best' if metric == BEST else 'last'} round",
                paper=printed_gain, trial=trials["HC8"], minus=trials["DP"], metric=metric,
                relative=True, again=True, )
            )  # fmt: skip
    for parts in gains.values():
        claimed = printed.GAIN_OVER["DP"]
        mean = PaperCell(
             row="mean of the sets", column=parts[0].column, paper=claimed, trial=parts[0].trial,
            metric=parts[0].metric, parts=tuple(parts), again=parts[0].metric == F1,
        )  # fmt: skip
        cells += [*parts, mean]
    note = (
        "The middle arm adds Gaussian noise of variance .08 to what each client sends, as the"
        " publication states it. It calls that (2, 1e-3)-DP; no such guarantee follows: nothing is"
        " clipped and rounds are not composed. HC8 claims no differential privacy at all."
    )
    return PaperTable(
        name="5",
        title="HashComb and the publication's noise",
        cells=tuple(cells),
        note=note,
        cost=COST,
    )


def budget(scale: Scale) -> PaperTable:
    """DP-FedAvg at (2, 1e-3) over the whole run next to HC8."""
    cells = []
    for name in ("spam", "okiru", "hps"):
        row = printed.SETS[name]
        for title, codec in (
            ("NoHC: no protection", plain()),
            ("HC8: obfuscated, no epsilon", hashcomb(name, 8)),
        ):
            cells.append(_cell(row, title, short(scale, name, codec)))
        for title, codec_name in (
            ("dp_sum: the server is trusted", "dp_sum"),
            ("gaussian: nobody is trusted", "gaussian"),
        ):
            trial = clip_chosen(scale, name, {"name": codec_name, **BUDGET})
            cells.append(_cell(row, title, trial))
            cells.append(
                PaperCell(
                    row=row, column=f"clip of {codec_name}", paper=None, trial=trial, metric="clip"
                )
            )
    note = (
        "F1 after the last round. `dp_sum` and `gaussian` have epsilon 2"
        " at delta 1e-3 per run, over all rounds, if all rows of one client are replaced"
        " (`gaussian`) or one client is added or removed (`dp_sum`). Their clip is the best of .01,"
        " .1 and 1 on a fifth of the training rows. Four clients are far too few for such a budget."
    )
    return PaperTable(
        name="budget",
        title="DP-FedAvg at (2, 1e-3) per run next to HC8",
        cells=tuple(cells),
        note=note,
    )


def clip_chosen(scale: Scale, name: str, codec: Tree) -> PaperTrial:
    """Runs of 8 rounds of 1,000 epochs whose clip is chosen on validation rows."""
    settings = {
        "rows": "authors",
        "name": name,
        "plan": plan(scale, _EPOCHS, _ROUNDS, codec),
        "clips": _CLIPS,
    }
    return PaperTrial(kind="hashcomb_private", settings=settings, seeds=SIZES[scale].ours)


def _cell(row: str, column: str, trial: PaperTrial) -> PaperCell:
    return PaperCell(row=row, column=column, paper=None, trial=trial, metric=F1)


TABLES = (table_5, budget)
