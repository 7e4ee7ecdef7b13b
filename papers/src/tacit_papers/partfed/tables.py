"""PartFed's figures as cells: accuracy by epoch, k and l, and the number of shared rows."""

from __future__ import annotations

from tacit.reproduction import Scale
from tacit_papers.partfed import printed
from tacit_papers.partfed.settings import (
    CENTRAL,
    ENCODINGS,
    FEDAVG,
    SIZES,
    Tree,
    count_trial,
    plan,
    train_trial,
)
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

K = (CENTRAL, 100, 200, 300, 400, 500, FEDAVG)
L = (50, 100, 150, 200, 250, 300, 350)
TRAIN, TRAIN_LESS_TEST = "train, at the end", "train minus test"
GAIN = "gain of one place"
MATCHED_K = {100: 168, 200: 304, 300: 460}
"""l of label_k → the k with which k-anonymity shares about as many rows of Adult; Figure 8 counts
it again.
"""


def gain(before: int, after: int) -> str:
    """The name of the column with the gain from further epochs."""
    return f"gain from {before} to {after}"


def k_row(k: int) -> str:
    """The name of a row of k."""
    return {CENTRAL: "k=1 (one place)", FEDAVG: "k=555 (averaging)"}.get(k, f"k={k}")


def l_row(l: int) -> str:  # noqa: E741 (the paper's name for it)
    """The name of a row of l."""
    return {CENTRAL: "l=1 (one place)", FEDAVG: "l=403 (averaging)"}.get(l, f"l={l}")


def threshold(rule: str, k: int) -> str:
    """The name of a row of k or l where both ends are counts like the others."""
    return f"{'k' if rule == 'k_anonymity' else 'l'}={k}"


def l_plan(scale: Scale, l: int) -> Tree:  # noqa: E741
    """The plan of a threshold l; its ends are those of k, since everything or nothing is shared."""
    return plan(scale, "k_anonymity" if l in (CENTRAL, FEDAVG) else "label_k", l)


def facts(_scale: Scale) -> PaperTable:
    """Facts about Adult from which the paper's limits derive, and how many rows are shared at them
    under both definitions of k.
    """
    trial = count_trial("table_facts")
    rows = (
        ("rows without a missing value", "rows", 30_162),
        ("largest class in age, race, sex", "largest", 554),
        ("largest class with the label too", "largest_with_label", 402),
    )
    cells = [
        PaperCell(row=row, column="rows", paper=n, trial=trial, metric=metric, digits=0)
        for row, metric, n in rows
    ]
    for k_of, words in (("rows", "k equal rows"), ("other_rows", "k other equal rows")):
        for rule, k, paper in (
            ("k_anonymity", 1, 30_162),
            ("k_anonymity", 554, 0),
            ("label_k", 402, 0),
        ):
            shared = count_trial("sharing", plan=plan("full", rule, k, k_of=k_of))
            row = f"shared at {threshold(rule, k)}, {words}"
            cells.append(
                PaperCell(
                    row=row, column="rows", paper=paper, trial=shared, metric="rows", digits=0
                )
            )
    note = (
        "Algorithm 1 requires at least k equal rows, the text k other samples (`data.share.k_of`)."
        " The printed ends, everything at k=1 and nothing at k=554 and l=402, follow from neither:"
        " by the first definition the largest class is still shared, by the second unique rows"
        " stay. We use the first, with its end at k=555 and l=403."
    )
    return PaperTable(
        name="facts",
        title="Adult: facts from which the paper's limits follow",
        cells=tuple(cells),
        note=note,
    )


def encodings(scale: Scale) -> PaperTable:
    """Figure 3."""
    size, cells = SIZES[scale], list[PaperCell]()
    for encoding in ENCODINGS:
        tree = plan(scale, "k_anonymity", FEDAVG, encoding)
        tree["server"]["rounds"] = size.longest
        trial = train_trial(tree, size.many_seeds if encoding == "E1" else size.few_seeds)
        for epoch in (*size.epochs, *size.later):
            paper = {100: 0.80, 400: 0.82, 600: 0.82}.get(epoch)
            cells.append(
                 PaperCell( row=encoding, column=f"epoch {epoch}", paper=paper, trial=trial,
                metric="accuracy", round_no=epoch, digits=2, again=encoding != "E1", )
            )  # fmt: skip
        cells.append(
            PaperCell(row=encoding, column=TRAIN, paper=None, trial=trial, metric="train_accuracy")
        )
        cells.append(
             PaperCell( row=encoding, column=TRAIN_LESS_TEST, paper=None, trial=trial, minus=trial,
            metric="train_accuracy", minus_metric="accuracy", )
        )  # fmt: skip
        for before, after, paper in ((100, 400, 0.02), (400, 600, 0.0)) if size.later else ():
            cells.append(
                 PaperCell( row=encoding, column=gain(before, after), paper=paper, trial=trial,
                minus=trial, metric="accuracy", round_no=after, minus_round_no=before, digits=2,
                again=encoding != "E1", )
            )  # fmt: skip
    note = (
        "Federated averaging over ten age intervals, test accuracy. The paper describes one curve"
        " in words (.80 after 100 epochs, .82 after 400, then constant), attributes it to E2 and"
        " uses E1 afterwards; we show it next to both. E2 has 86 columns here; the paper says 95,"
        " which we cannot reproduce."
    )
    return PaperTable(
        name="fig3",
        title="Figure 3. Accuracy by epoch for two encodings",
        cells=tuple(cells),
        note=note,
    )


def load(_scale: Scale) -> PaperTable:
    """Figure 4: counts over the whole table at every scale."""
    columns = (
        ("unique in 12 features", "unique_share"), ("in one-label classes", "single_label_share"),
        ("classes", "classes"), ("with one label", "single_label_classes"),
    )  # fmt: skip
    cells = []
    for rule, thresholds in printed.THRESHOLDS.items():
        for k in thresholds:
            row, trial = threshold(rule, k), count_trial("sharing", plan=plan("full", rule, k))
            paper = printed.SHARED.get((rule, k))
            cells.append(
                PaperCell(
                    row=row,
                    column="rows shared",
                    paper=paper,
                    trial=trial,
                    metric="share",
                    digits=1 if k == 200 else 3,
                )
            )
            for column, metric in columns:
                cells.append(
                    PaperCell(row=row, column=column, paper=None, trial=trial, metric=metric)
                )
    note = (
        "All 30,162 rows, counted before the split as the paper did. The shares after the first"
        " column are relative to the shared rows; features are those of E1."
    )
    return PaperTable(
        name="fig4",
        title="Figure 4. Load taken off the clients, and what it reveals",
        cells=tuple(cells),
        note=note,
    )


def by_k(scale: Scale) -> PaperTable:
    """Figure 5."""
    seeds, cells = SIZES[scale].seeds, list[PaperCell]()
    for partition, thresholds in (("quantile", K), ("interval", (CENTRAL, 300, FEDAVG))):
        for k in thresholds:
            trial = train_trial(plan(scale, "k_anonymity", k, partition=partition), seeds)
            name = k_row(k) if partition == "quantile" else f"equal width: {k_row(k)}"
            paper = {CENTRAL: 0.83, FEDAVG: 0.80}.get(k)
            cells += _curve(name, trial, scale, paper, again=partition != "quantile")
    for partition, row in (("quantile", GAIN), ("interval", f"equal width: {GAIN}")):
        central, averaging = (
            train_trial(plan(scale, "k_anonymity", k, partition=partition), seeds)
            for k in (CENTRAL, FEDAVG)
        )
        last = SIZES[scale].epochs[-1]
        cells.append(
             PaperCell( row=row, column=f"epoch {last}", paper=0.0375, trial=central, minus=averaging,
            relative=True, metric="accuracy", round_no=last, digits=4, again=partition != "quantile", )
        )  # fmt: skip
    note = (
        "Test accuracy, mean over seeds. Age deciles unless stated otherwise. Gains are relative to"
        " the accuracy of averaging."
    )
    return PaperTable(name="fig5", title="Figure 5. Accuracy by k", cells=tuple(cells), note=note)


def _curve(
    row: str, trial: PaperTrial, scale: Scale, paper: float | None = None, *, again: bool = False
) -> list[PaperCell]:
    """Accuracy by epoch; `paper` is that of epoch 100."""
    return [
         PaperCell( row=row, column=f"epoch {epoch}", paper=paper if epoch == 100 else None,
        trial=trial, metric="accuracy", round_no=epoch, digits=2, again=again, ) for epoch in
        SIZES[scale].epochs
    ]  # fmt: skip


def by_l(scale: Scale) -> PaperTable:
    """Figures 6 and 7."""
    cells: list[PaperCell] = []
    for l in (CENTRAL, *L, FEDAVG):  # noqa: E741
        cells += _curve(l_row(l), train_trial(l_plan(scale, l), SIZES[scale].seeds), scale)
    note = (
        "As in Figure 5. The paper reports a gain up to l=200, a decline after epoch 20 at l=100"
        " and 200, and a result below averaging at l=300."
    )
    return PaperTable(
        name="fig7",
        title="Figures 6 and 7. Accuracy by l, which is not l-diversity",
        cells=tuple(cells),
        note=note,
    )


def components(scale: Scale) -> PaperTable:
    """Figure 8: the loss of a label_k plan against central training, in two parts.

    The first is the cost of federation: the loss of k-anonymity with the k that shares about as
    many rows, whatever their labels. The second is the rest: the cost of separating labels.
    """
    seeds, cells = SIZES[scale].seeds, []
    central = train_trial(plan(scale, "k_anonymity", CENTRAL), seeds)
    for l, k in MATCHED_K.items():  # noqa: E741
        blind, labelled = (
            train_trial(plan(scale, "k_anonymity", k), seeds),
            train_trial(plan(scale, "label_k", l), seeds),
        )
        cells.append(
            PaperCell(
                row=f"l={l}",
                column="k with as many rows",
                paper=None,
                trial=count_trial("matched_k", l=l),
                metric="k",
            )
        )
        for column, trial, minus in (
            ("loss against one place", central, labelled),
            ("1: federation", central, blind),
            ("2: labels on different sides", blind, labelled),
        ):
            cells.append(
                PaperCell(
                    row=f"l={l}",
                    column=column,
                    paper=None,
                    trial=trial,
                    minus=minus,
                    metric="accuracy",
                )
            )
    note = (
        "The paper draws both components as idealised curves and says that they cannot be measured;"
        " sharing the same number of rows regardless of label measures them."
    )
    return PaperTable(
        name="fig8",
        title="Figure 8. Where the l-variant loses accuracy",
        cells=tuple(cells),
        note=note,
    )
