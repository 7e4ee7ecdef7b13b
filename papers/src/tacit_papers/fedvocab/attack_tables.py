"""FedVocab's table 2 and figure 3 as cells: words that attackers recover, by method, batch and
network; and two further attackers.
"""

from __future__ import annotations

from typing import Any

from tacit_papers.published import PaperCell, PaperTable, PaperTrial

PRIVATE: dict[str, dict[str, Any]] = {
    "FedAvg": {"start": "public"},
    "FedRecon": {"words": "digits", "adapt": "reconstruct", "store": "none", "start": "public"},
    "FedVocab": {"words": "all", "adapt": "pass", "start": "public"},
    "FedVocab, random start": {"words": "all", "adapt": "pass", "start": "random"},
}
_SEEDS = (1, 2, 3)
BATCHES = (1, 4, 16, 64)
_PRINTED = {"FedAvg": (0.882, 0.876), "FedRecon": (0.024, 0.021), "FedVocab": (0.013, 0.012)}
"""Share of digit words that leak, DistilBERT and BiLSTM (table 2)."""
PAPERS_ATTACKER = {
    "FedAvg": "knows the table",
    "FedRecon": "public table",
    "FedVocab": "wrong table",
}
"""The paper's attacker of each method: for FedVocab, one with another model's table."""
_WAYS = ("wrong table", "public table", "knows the table", "table rows", "crafted reader")
_NOTE = (
    "AG News texts of 5 to 30 words with three numbers or more, of one client in its second round;"
    " words are counted as multisets. Wrong table: the attacker looks words up in another table, as"
    " the paper's attacker of FedVocab does. Public table: in the vectors that every client started"
    " from. Knows the table: also in the client's private rows. Table rows: which rows of a shared"
    " table have a gradient. Crafted reader: the server sent a malicious model whose cells respond"
    " to single words. All except the last two use the span of the first layer's gradient, which"
    " fails if a batch has more different words than a vector has dimensions (100; the paper's have"
    " 300)."
)


def attack_tables(networks: tuple[str, ...]) -> tuple[PaperTable, ...]:
    """Tables of what attackers recover from these networks."""
    return (
        _leakage(networks),
        _build_batch_table(),
        _parts(networks),
        _attributes(),
        _membership(),
    )


def _trial(network: str, method: str) -> PaperTrial:
    sizes: dict[str, dict[str, Any]] = {
        "bilstm": {"texts": 128, "rows": 1_000, "batches": list(BATCHES)},
        "encoder": {"texts": 4, "rows": 60, "batches": [1]},
    }
    return PaperTrial(
        kind="attack",
        settings={"network": network, "method": method, **sizes[network]},
        seeds=_SEEDS,
    )


def _leakage(networks: tuple[str, ...]) -> PaperTable:
    cells = []
    for network in networks:
        place = ("encoder", "bilstm").index(network)
        for method in PRIVATE:
            run = _trial(network, method)
            for way in _WAYS[: 4 if network == "encoder" else 5]:
                paper = _PRINTED[method][place] if PAPERS_ATTACKER.get(method) == way else None
                row = (
                    f"{method},"
                    f" {'MiniLM-L6 (the paper: DistilBERT)' if network == 'encoder' else 'BiLSTM'}"
                )
                cells.append(
                    PaperCell(row=row, column=way, paper=paper, trial=run, metric=f"{way}, ptlr, 1")
                )
    note = f"{_NOTE} BiLSTM of 50 per direction: 128 texts as in the paper; MiniLM: 4."
    return PaperTable(
        name="ptlr",
        title="Share of words with a digit that are recovered (batch 1)",
        cells=tuple(cells),
        note=note,
        small=True,
    )


def _build_batch_table() -> PaperTable:
    cells = [
        PaperCell(
            row=f"{method}, {way}",
            column=f"batch {batch}",
            paper=None,
            trial=_trial("bilstm", method),
            metric=f"{way}, recall, {batch}",
        )
        for method in PRIVATE
        for way in _WAYS
        for batch in BATCHES
    ]
    title = "Share of all words that are recovered, by texts per batch: BiLSTM, 128 texts"
    return PaperTable(name="batches", title=title, cells=tuple(cells), note=_NOTE)


def _parts(networks: tuple[str, ...]) -> PaperTable:
    cells = [
        PaperCell(
            row=f"{method}, {network}",
            column=f"{way}, {figure}",
            paper=None,
            trial=_trial(network, method),
            metric=f"{way}, {figure}, 1",
        )
        for network in networks
        for method in PRIVATE
        for way in ("wrong table", "public table")
        for figure in ("precision", "recall", "f1")
    ]
    return PaperTable(
        name="f1",
        title="Precision, recall and F1 over all words, batch 1",
        cells=tuple(cells),
        note=_NOTE,
        small=True,
    )


def _attributes() -> PaperTable:
    cells = []
    for method in ("FedAvg", "FedVocab", "FedVocab, random start"):
        for bits in (None, 1.0):
            settings = {"method": method, "texts": 100, "rows": 1_000, "bits": bits}
            run = PaperTrial(kind="attribute", settings=settings, seeds=_SEEDS)
            column = "in the clear" if bits is None else "one bit, epsilon 1 per bit"
            cells.append(PaperCell(row=method, column=column, paper=None, trial=run, metric="auc"))
    note = (
        "Area under the curve; .5 is chance. The attacker learns from gradients of another client's"
        " texts, computed with public word vectors, and classifies up to 100 gradients of the"
        " victim's single texts, half of them with a number. Gradients of a word table are not"
        " used."
    )
    return PaperTable(
        name="attribute",
        title="Does a gradient reveal whether a text contains a number?",
        cells=tuple(cells),
        note=note,
        small=True,
    )


def _membership() -> PaperTable:
    sizes: dict[str, Any] = {"rows": 600, "texts": 100, "epochs": 1, "bits": None, "knows": True}
    rows: dict[str, dict[str, Any]] = {
        "FedAvg": {"method": "FedAvg"},
        "FedVocab, public table": {"method": "FedVocab", "knows": False},
        "FedVocab, random start, knows the table": {"method": "FedVocab, random start"},
        "FedVocab, random start, public table": {
            "method": "FedVocab, random start",
            "knows": False,
        },
        "FedVocab, one bit, epsilon 1 per bit": {"method": "FedVocab", "bits": 1.0},
        "FedVocab, 40 passes on 50 texts": {
            "method": "FedVocab",
            "texts": 50,
            "epochs": 40,
        },
        "a broken client: FedAvg, 40 passes on 50 texts": {
            "method": "FedAvg",
            "texts": 50,
            "epochs": 40,
        },
    }
    cells = [
        PaperCell(
            row=row,
            column=column,
            paper=None,
            trial=PaperTrial(kind="membership", settings={**sizes, **changed}, seeds=_SEEDS),
            metric=column,
        )
        for row, changed in rows.items()
        for column in ("loss drop", "alignment", "loss drop, control", "alignment, control")
    ]
    note = (
        "Area under the curve with which the server tells 100 texts that a client trained on, in its"
        " first round, from 100 that nobody trained on; .5 is chance. BiLSTM of 50 per direction."
        " Loss drop: how much the update lowers a text's loss. Alignment: the cosine of the update"
        " and the text's negative gradient. Controls tell apart two halves of the texts that nobody"
        " trained on. An epsilon per bit bounds the loss of one bit, and not that of an update."
    )
    return PaperTable(
        name="membership",
        title="Does a message reveal whether its client trained on a text?",
        cells=tuple(cells),
        note=note,
        small=True,
    )
