"""FedVocab's tables as cells: accuracy by method, and message sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tacit.reproduction import Scale
from tacit_papers.fedvocab import printed
from tacit_papers.fedvocab.attack_tables import attack_tables
from tacit_papers.fedvocab.differences import add_differences
from tacit_papers.fedvocab.printed import Printed
from tacit_papers.fedvocab.settings import (
    BILSTM,
    ENCODER,
    ENCODER_ROWS,
    LADDER,
    METHODS,
    Network,
    trial,
)
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

_SETS = {"newsgroups20": "20News", "sst2": "SST-2", "ag_news": "AG News"}
_COLUMNS = (
    ("global, best round", "best_global_seen"),
    ("local, best round", "best_local_seen"),
    ("global, last ten rounds", "late_global"),
    ("local, last ten rounds", "late_local"),
    ("global, last round", "assembled_global"),
    ("local, last round", "assembled_local"),
    ("global, trained on", "global_accuracy"),
    ("global, trained on, geometric", "global_geometric"),
    ("local, trained on", "local_accuracy"),
)
_PRINTED = ("best_global_seen", "best_local_seen")
_TRAINED = ("global_accuracy", "global_geometric", "local_accuracy")
_PRINTED_ALONE = ("global_accuracy", "local_accuracy")
"""Local-only training has no rounds: the paper's number is compared with the model after its
training.
"""

_ENCODER_METHODS = ("FedVocab", "FedAvg", "FedVocab, no adaptive pass", "FedRecon")
_QUICK_STEPS = (
    "frozen tables",
    "slow tables, adaptive pass",
    "trained tables, adaptive pass",
    "FedAvg",
)
_QUICK_METHODS = ("FedVocab", "FedAvg", "FedVocab, no adaptive pass")
_OPEN_BY_THREE = {
    "ladder": ("trained tables, adaptive pass", "varied public tables, adaptive pass"),
    "small-sst2": ("FedVocab", "FedAvg", "FedVocab, no adaptive pass", "Local only, 10 epochs"),
    "small-newsgroups20": ("FedAvg", "Local only, 10 epochs"),
}
"""Rows with skewed labels whose differences three seeds leave open: they have ten at the full
scale.
"""

_NOTE = (
    "Best round, as in the paper: after each round the new shared parameters are combined with the"
    " private ones of that round's clients; each client's best round counts. It is chosen on the"
    " test rows, so it is optimistic. Last ten rounds: the mean of the same figures over the last"
    " ten rounds. Last round: the final shared parameters with clients' private ones. Trained on:"
    " after one more local training, which is biased towards a client's own labels. Means over"
    " clients are arithmetic unless stated as geometric."
)


def tables(scale: Scale) -> tuple[PaperTable, ...]:
    """The paper's tables at a scale.

    Small runs with three seeds decide claims: some of them at the quick scale, all of them at the
    full one, which also has the paper's own sizes.
    """
    if scale == "quick":
        return (
            *_small(_QUICK_STEPS, _QUICK_METHODS, {}),
            *attack_tables(("bilstm",)),
            _communication(),
        )
    large = (
        *(
            _accuracy(f"bilstm-{source}", BILSTM, source, tuple(METHODS), scale)
            for source in ("sst2", "newsgroups20", "ag_news")
        ),
        *add_differences(
            *(
                _accuracy(f"minilm-{source}", ENCODER, source, _ENCODER_METHODS, scale)
                for source in ("sst2", "newsgroups20")
            )
        ),
        _communication(),
    )
    if scale == "smoke":
        return large
    return (
        *large,
        *_small(tuple(LADDER), tuple(METHODS), _OPEN_BY_THREE),
        *_small_news(),
        *_with_all_rows(),
        *attack_tables(("encoder", "bilstm")),
    )


def _small(
    steps: tuple[str, ...], methods: tuple[str, ...], many: Mapping[str, tuple[str, ...]]
) -> tuple[PaperTable, ...]:
    title = "BiLSTM on SST-2, labels skewed: how far word tables may move"
    return add_differences(
        _ladder("ladder", title, steps, even=False, many=many.get("ladder", ())),
        _accuracy("small-sst2", BILSTM, "sst2", methods, "quick", many.get("small-sst2", ())),
        _accuracy("small-minilm-sst2", ENCODER, "sst2", ("FedVocab", "FedAvg"), "quick"),
    )


def _small_news() -> tuple[PaperTable, ...]:
    methods = (
        "FedVocab",
        "FedVocab, no adaptive pass",
        "FedAvg",
        "FedRecon",
        "Local only, 10 epochs",
    )
    return add_differences(
        _ladder(
            "ladder-even",
            "BiLSTM on SST-2, labels spread evenly: how far word tables may move",
            _QUICK_STEPS,
            even=True,
        ),
        _accuracy(
            "small-newsgroups20",
            BILSTM,
            "newsgroups20",
            methods,
            "quick",
            _OPEN_BY_THREE["small-newsgroups20"],
        ),
        _accuracy(
            "small-ag_news",
            BILSTM,
            "ag_news",
            ("FedVocab", "FedAvg", "LG-FedAvg", "FedRecon"),
            "quick",
        ),
        _accuracy(
            "small-minilm-newsgroups20", ENCODER, "newsgroups20", ("FedVocab", "FedAvg"), "quick"
        ),
    )


def _with_all_rows() -> tuple[PaperTable, ...]:
    """Tables whose clients have as many rows as the paper's."""
    tables = (
        _accuracy(f"rows-minilm-{source}", ENCODER_ROWS, source, ("FedVocab", "FedAvg"), "quick")
        for source in ("sst2", "newsgroups20")
    )
    titled = (
        replace(one, title=one.title.replace(", small", ", the paper's rows per client"))
        for one in tables
    )
    return add_differences(*titled)


def _ladder(
    name: str, title: str, steps: tuple[str, ...], *, even: bool, many: tuple[str, ...] = ()
) -> PaperTable:
    cells = []
    for row in steps:
        run = trial(
            BILSTM, "sst2", replace(LADDER[row], even=even), "quick", open_by_three=row in many
        )
        cells += [
            PaperCell(row=row, column=column, paper=None, trial=run, metric=metric)
            for column, metric in _COLUMNS
        ]
    return PaperTable(name=name, title=title, cells=tuple(cells), note=_NOTE, small=True)


def _accuracy(
    name: str, network: Network, source: str, methods: tuple[str, ...], scale: Scale, many: tuple[str, ...] = ()
) -> PaperTable:  # fmt: skip
    cells = []
    for row in (known for known in METHODS if known in methods):
        run = trial(network, source, METHODS[row], scale, open_by_three=row in many)
        printed_values = (
            {} if scale == "quick" else _get_printed_metrics(network.printed, row, source)
        )  # small runs do not stand next to the paper's
        for column, metric in (
            known for known in _COLUMNS if not METHODS[row].alone or known[1] in _TRAINED
        ):
            paper = printed_values.get(metric)
            cells.append(PaperCell(row=row, column=column, paper=paper, trial=run, metric=metric))
    size = ", small" if scale == "quick" else ""
    title = f"{network.label} on {_SETS[source]}: accuracy by method{size}"
    return PaperTable(
        name=name,
        title=title,
        cells=tuple(cells),
        note=_NOTE,
        small=scale == "quick",
        cost=network.cost,
    )


def _get_printed_metrics(figures: Printed, method: str, source: str) -> dict[str, float]:
    """The metrics of a row for which the paper prints a number."""
    if method not in figures:
        return {}
    names = _PRINTED_ALONE if METHODS[method].alone else _PRINTED
    return dict(zip(names, figures[method][list(_SETS).index(source)], strict=True))


def _communication() -> PaperTable:
    cells = []
    for method in ("FedAvg", "FedProx", "FedRecon", "LG-FedAvg", "FedVocab"):
        for words, width in ((400_000, 300), (341_479, 100)):
            kept = METHODS[method].private
            settings = {
                 "words": words, "width": width, "hidden": 300, "private_words": kept.get("words",
                "none"), "private_reader": "parameters" in kept,
            }  # fmt: skip
            size = PaperTrial(kind="message_bytes", settings=settings, seeds=())
            column = f"{words:,} words, {width}-d"
            cells.append(
                PaperCell(
                    row=f"{method}, MB up",
                    column=column,
                    paper=None,
                    trial=size,
                    metric="megabytes",
                )
            )
            if method == "FedVocab":
                paper = printed.RATIO if width == 300 else None
                row = "FedAvg / FedVocab"
                cells.append(
                    PaperCell(
                        row=row, column=column, paper=paper, digits=0, trial=size, metric="ratio"
                    )
                )
    note = (
        "Sizes of one client's serialised messages per round, plain codec. The 400,000-word, 300-d"
        " table is the paper's; the available public vectors are 341,479 words of 100 numbers. The"
        " size of a plain message does not depend on its values, so the larger table is measured"
        " with zeros."
    )
    return PaperTable(
        name="bytes",
        title="Communication per client and round, BiLSTM of 300 per direction",
        cells=tuple(cells),
        note=note,
    )
