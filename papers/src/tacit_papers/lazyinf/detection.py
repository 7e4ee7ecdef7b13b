"""LazyInf's own table, and its limits: detection under noise, budget, collusion and label skew."""

from __future__ import annotations

from tacit.reproduction import Scale
from tacit_papers.lazyinf import printed
from tacit_papers.lazyinf.settings import SIZES, VOTE, Source, Tree, plan, train_trial, votes
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

_SOURCES: dict[Source, str] = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
_METRICS = ("accuracy", "precision", "recall")
"""The minimum of accuracy, precision and recall."""


def detection(scale: Scale) -> PaperTable:
    """The paper's table: accuracy, precision and recall of the filter after one round."""
    arms: tuple[tuple[str, Tree, str | None], ...] = (
        ("no noise", votes(), "clear"),
        ("votes at 0.5", votes(vote_epsilon=VOTE), None),
        (
            "votes at 0.5, record noise",
            votes("record", vote_epsilon=VOTE, rule="self_tuned"),
            "noised",
        ),
        ("votes at 0.5, client noise", votes("client", vote_epsilon=VOTE), "noised"),
    )
    cells: list[PaperCell] = []
    for source, title in _SOURCES.items():
        for arm, filter_table, column in arms:
            trial = train_trial(plan(scale, source, filter=filter_table), SIZES[scale].seeds)
            paper = printed.DETECTED[source, column] if column else (None, None, None)
            again = arm.endswith("record noise")  # the second reading of one printed row
            cells += _list_cells(f"{title}, {arm}", trial, paper, again=again)
    note = (
        "Three tenths of the clients have 90 % random labels; every client votes on every"
        " other. Noise of (1, 1e-5) on the head hides one row (record: gradients clipped row by"
        " row) or all rows of the contributor (client); the paper used noise of the second kind,"
        " with a clip and a variance that it does not state. What it calls eps = 1 is 0.5 per vote,"
        " 49.5 per tester and round. With record noise the threshold is self-tuned, else zero."
        " Precision is 1 if nobody is rejected."
    )
    return PaperTable(
        name="detection",
        title="Corrupted clients found in one round",
        cells=tuple(cells),
        note=note,
    )


def _list_cells(
    row: str, trial: PaperTrial, paper: tuple[float | None, ...], *, again: bool = False
) -> list[PaperCell]:
    return [
        PaperCell(
            row=row,
            column=name,
            paper=printed_one,
            trial=trial,
            metric=f"filter_{name}",
            again=again,
        )
        for name, printed_one in zip(_METRICS, paper, strict=True)
    ]


def decisions(scale: Scale) -> PaperTable:
    """How often randomised votes reverse a decision, next to the binomial prediction from exact
    votes.
    """
    cells = list[PaperCell]()
    for source, title in _SOURCES.items():
        for epsilon in printed.FLIPPED:
            settings = {
                "plan": plan(scale, source, filter=votes(max_rejected=1.0)),
                "epsilon": epsilon,
            }
            trial = PaperTrial(
                kind="lazyinf_decisions", settings=settings, seeds=SIZES[scale].seeds
            )
            row = f"{title}, votes at {epsilon:g}"
            for column, metric in (
                ("testers who agree", "agreement"),
                ("turned, predicted", "predicted"),
                ("turned, seen", "seen"),
            ):
                cells.append(
                    PaperCell(row=row, column=column, paper=None, trial=trial, metric=metric)
                )
            cells.append(
                PaperCell(
                    row=row,
                    column="standard errors apart, mean",
                    paper=None,
                    trial=trial,
                    metric="apart",
                )
            )
    note = (
        "Each plan is run twice, with exact and with randomised votes. The number of the 99 testers"
        " who found a contributor helpful gives, by two binomials, the probability that noise"
        " reverses its decision; the runs show how often it did."
    )
    return PaperTable(
        name="decisions",
        title="Decisions that noise on votes reverses",
        cells=tuple(cells),
        note=note,
    )


def budget(scale: Scale) -> PaperTable:
    """Detection by five testers per contributor over rounds, at a bounded total per tester and
    round.
    """
    size, cells = SIZES[scale], list[PaperCell]()
    shown = sorted({1, 2, min(5, size.budget_rounds), size.budget_rounds})
    for source, title in _SOURCES.items():
        for total in (8.0, 4.0, 1.0):
            table = votes(testers=5, vote_epsilon=total / 5, memory=1.0)
            tree = plan(scale, source, rounds=size.budget_rounds, filter=table)
            trial = train_trial(tree, size.seeds)
            for round_no in shown:
                for name in ("precision", "recall"):
                    cells.append(
                         PaperCell( row=f"{title}, {total:g} per tester and round",
                        column=f"{name}, round {round_no}", paper=None, trial=trial,
                        metric=f"filter_{name}", round_no=round_no, )
                    )  # fmt: skip
    note = (
        "V = 5 testers per contributor, drawn by public randomness in each round; scores of earlier"
        " rounds count fully. The budget is per round: R rounds multiply a tester's privacy loss"
        " by R."
    )
    return PaperTable(
        name="budget",
        title="Detection by round with a bounded budget",
        cells=tuple(cells),
        note=note,
    )


def collusion(scale: Scale) -> PaperTable:
    """The share of colluding testers at which half of all honest contributors are rejected."""
    size, cells = SIZES[scale], list[PaperCell]()
    for epsilon, flip in printed.FLIPPED.items():
        spread = range(-(size.collusion // 2), size.collusion // 2 + 1)
        shares = [round(flip + 0.025 * step, 2) for step in spread]
        settings = {
            "plan": plan(scale, "mnist", filter=votes(vote_epsilon=epsilon, max_rejected=1.0)),
            "shares": shares,
        }
        trial = PaperTrial(kind="lazyinf_collusion", settings=settings, seeds=size.seeds[:3])
        row = f"votes at {epsilon:g}"
        cells.append(
            PaperCell(
                row=row, column="flip point", paper=None, trial=trial, metric="flip",
            )
        )  # fmt: skip
        for number, column in ((0, "least"), (-1, "greatest")):
            name = f"honest rejected at the {column} share tried"
            cells.append(
                PaperCell(
                    row=row,
                    column=name,
                    paper=None,
                    trial=trial,
                    metric=f"rejected_{shares[number]:g}",
                )
            )
    note = (
        "Colluders vote for each other and against all others, and do not randomise. The mechanism"
        " predicts (2r - 1) / (2r), where r is the probability that a vote is kept."
    )
    return PaperTable(
        name="collusion",
        title="Colluding testers: where honest clients are outvoted",
        cells=tuple(cells),
        note=note,
    )


def skew(scale: Scale) -> PaperTable:
    """Detection where clients' label distributions differ, so that a good update does not help
    everybody.
    """
    cells: list[PaperCell] = []
    noises: dict[str, Tree] = {"in the clear": {}, "at 0.5": {"vote_epsilon": VOTE}}
    for alpha in (0.1, 0.5, 1.0):
        for rule in ("zero", "self_tuned"):
            for words, noise in noises.items():
                mixes = {"partition": "dirichlet", "alpha": alpha}
                tree = plan(scale, "cifar10", data=mixes, filter={**votes(rule=rule), **noise})
                row = f"alpha {alpha:g}, {rule}, votes {words}"
                cells += _list_cells(row, train_trial(tree, SIZES[scale].seeds), (None, None, None))
    note = (
        "CIFAR-10; the label distributions of clients, as testers and contributors, are"
        " drawn from Dirichlet(alpha)."
    )
    return PaperTable(
        name="skew", title="Testers whose labels differ", cells=tuple(cells), note=note
    )
