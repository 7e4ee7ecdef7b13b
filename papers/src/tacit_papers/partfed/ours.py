"""Additional tables: sounder rules, both kinds of error, successive releases, and E1 against E2."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from tacit.reproduction import Scale
from tacit_papers.partfed.settings import (
    AS_IN_THE_CENSUS,
    ENCODINGS,
    FEDAVG,
    SIZES,
    Tree,
    count_trial,
    plan,
    train_trial,
)
from tacit_papers.partfed.tables import K, k_row, l_plan, l_row
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

RAW = "k_anonymity, k=100, columns as in the census"
GROWING_K = 100
PAPERS_RULE, WAITING = "the paper's rule", "new rows wait for k of their own"
SENSITIVITY, SPECIFICITY = "sensitivity", "specificity"


def rules(scale: Scale) -> PaperTable:
    """What each rule shares, what that reveals about people, and the accuracy it achieves."""
    coarse = {
         "age": "ranges 10", "education-num": "ranges 4", "native-country": "suppress",
        "occupation": "suppress", "workclass": "suppress",
    }  # fmt: skip
    census = plan(scale, "k_anonymity", 100)
    census["data"]["columns"] = AS_IN_THE_CENSUS
    trees = {
        "k_anonymity, k=100": plan(scale, "k_anonymity", 100),
        RAW: census,
        "label_k, k=100 (the paper's l=100)": plan(scale, "label_k", 100),
        "distinct_l, k=100, l=2": plan(scale, "distinct_l", 100, l=2),
        "whole_row, k=100, coarser values": plan(
            scale, "k_anonymity", 100, release="whole_row", generalise=coarse
        ),
    }
    columns = (
        ("rows shared", "share"),
        ("unique", "unique_share"),
        ("in one-label classes", "single_label_share"),
    )
    cells = []
    for row, tree in trees.items():
        whole = {
            **tree,
            "data": {key: value for key, value in tree["data"].items() if key != "limit"},
        }
        count = count_trial("sharing", plan=whole)
        cells += [
            PaperCell(row=row, column=column, paper=None, trial=count, metric=metric)
            for column, metric in columns
        ]
        trial = train_trial(tree, SIZES[scale].seeds)
        cells.append(
            PaperCell(
                row=row, column="accuracy at the end", paper=None, trial=trial, metric="accuracy"
            )
        )
    note = (
        "Not in the paper. Whole row: ages in ranges of ten, education in ranges of four, without"
        " country, occupation and work class; every shared row then equals at least 99 others in"
        " all remaining columns."
    )
    return PaperTable(
        name="rules", title="The paper's rules next to sound ones", cells=tuple(cells), note=note
    )


def errors(scale: Scale) -> PaperTable:
    """Both kinds of error next to accuracy, which the paper names and does not report."""
    rows = {k_row(k): plan(scale, "k_anonymity", k) for k in K} | {
        l_row(least): l_plan(scale, least) for least in (100, 200, 300)
    }
    columns = (
        ("accuracy", "accuracy"),
        (SENSITIVITY, "recall_1"),
        (SPECIFICITY, "recall_0"),
        ("AUC", "auc"),
    )
    cells = [
        PaperCell(
            row=row,
            column=column,
            paper=None,
            trial=train_trial(tree, SIZES[scale].seeds),
            metric=metric,
        )
        for row, tree in rows.items()
        for column, metric in columns
    ]
    note = (
        "Not in the paper, which says that accuracy suffices for a comparison."
        " Sensitivity: recall of those who earn more than 50K, a quarter of all; specificity:"
        " recall of the others."
    )
    return PaperTable(
        name="errors",
        title="Sensitivity and specificity next to accuracy",
        cells=tuple(cells),
        note=note,
    )


def growing(scale: Scale) -> PaperTable:
    """What differences between releases reveal as data grow, under the paper's rule and under one
    that withstands it.
    """
    columns = (
         ("rows shared in the end", "share"), ("left in a group below k", "few_share"),
        ("left alone", "alone"), ("label known for sure", "few_one_label"),
    )  # fmt: skip
    cells = []
    for releases in SIZES[scale].releases:
        for words, again in ((PAPERS_RULE, "whole_class"), (WAITING, "newcomers")):
            settings = {"releases": releases, "k": GROWING_K, "again": again}
            trial = PaperTrial(kind="partfed_growing", settings=settings, seeds=SIZES[scale].seeds)
            row = growing_row(releases, words)
            cells += [
                PaperCell(row=row, column=column, paper=None, trial=trial, metric=metric)
                for column, metric in columns
            ]
    note = (
        "Not in the paper, whose step 2 decides again in every round. All 30,162 rows arrive in"
        " random order, an equal part of them before each release, k=100. A group is the rows with"
        " equal age, race and sex in the same release; anybody who kept the previous release finds"
        " it by subtraction. The second column is a share of the shared rows; the last two count"
        " people: alone in their group, and in a group below k with a single label."
    )
    return PaperTable(
        name="growing",
        title="Repeated releases as data grow: what subtraction reveals",
        cells=tuple(cells),
        note=note,
    )


def growing_row(releases: int, words: str) -> str:
    """The name of a row."""
    return f"{releases} releases, {words}"


def e1_or_e2(scale: Scale) -> PaperTable:
    """Possible causes for E2 being worse than E1, on validation rows: one setting changed at a
    time.
    """
    size, cells = SIZES[scale], list[PaperCell]()
    for row, change in _CHANGES.items():
        first, second = (
            train_trial(change(_use_validation(scale, encoding)), size.few_seeds)
            for encoding in ENCODINGS
        )
        cells += [
            PaperCell(row=row, column="E1", paper=None, trial=first, metric="accuracy"),
            PaperCell(row=row, column="E2", paper=None, trial=second, metric="accuracy"),
            PaperCell(
                row=row,
                column="E2 minus E1",
                paper=None,
                trial=second,
                minus=first,
                metric="accuracy",
            ),
        ]
    note = (
        "Not in the paper. Federated averaging, accuracy on validation rows (30 % of the train"
        " rows), with four times as many epochs where stated. The paper does not state its"
        " learning rate, its batches or the widths of E2."
    )
    return PaperTable(
        name="e1-e2",
        title="Why E2 is better here: one setting changed at a time",
        cells=tuple(cells),
        note=note,
    )


def _use_validation(scale: Scale, encoding: str) -> Tree:
    tree = deepcopy(plan(scale, "k_anonymity", FEDAVG, encoding))
    tree["data"]["validation"] = 0.3
    return tree


def _local(**settings: float | str) -> Callable[[Tree], Tree]:
    return lambda tree: {**tree, "local": {**tree["local"], **settings}}


def _longer(tree: Tree) -> Tree:
    return {**tree, "server": {**tree["server"], "rounds": 4 * tree["server"]["rounds"]}}


def _narrow(tree: Tree) -> Tree:
    return {**tree, "model": {**tree["model"], "hidden": [12]}}


def _remove_scaling(tree: Tree) -> Tree:
    return {**tree, "features": {**tree["features"], "numeric": "raw"}}


def _centralise(tree: Tree) -> Tree:
    return {**tree, "data": {**tree["data"], "share": {**tree["data"]["share"], "k": 1}}}


_CHANGES: dict[str, Callable[[Tree], Tree]] = {
    "as in Figure 3": lambda tree: tree,
    "rate 1e-2": _local(lr=1e-2),
    "rate 1e-2, four times as many epochs": lambda tree: _longer(_local(lr=1e-2)(tree)),
    "rate 1e-4": _local(lr=1e-4),
    "rate 1e-5": _local(lr=1e-5),
    "batches of 256": _local(batch=256),
    "SGD, rate 1e-2": _local(optimizer="sgd", lr=1e-2),
    "12 hidden units for both": _narrow,
    "numbers not scaled": _remove_scaling,
    "in one place": _centralise,
}
