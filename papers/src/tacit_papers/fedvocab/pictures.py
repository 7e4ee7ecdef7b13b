"""FedVocab's figures 3, 4 and 6, and the ladder of word tables, as pictures."""

from __future__ import annotations

from tacit_papers.fedvocab.attack_tables import BATCHES, PRIVATE
from tacit_papers.pictures import Line, Panel, Picture
from tacit_papers.published import At

_SIZES = ((100, "341,479 words, 100-d"), (300, "400,000 words, 300-d"))
_ACCURACIES = ("global, last ten rounds", "local, last ten rounds")


def _reading(way: str) -> Panel:
    lines = (
        Line(
            label=method,
            points=tuple(
                (batch, At("batches", f"{method}, {way}", f"batch {batch}")) for batch in BATCHES
            ),
        )
        for method in PRIVATE
    )
    return Panel(
        title=way,
        across="texts per batch",
        up="share of words recovered",
        lines=tuple(lines),
        scale="log",
    )


def _communication() -> Panel:
    lines = (
        Line(
            label=method,
            points=tuple(
                (width, At("bytes", f"{method}, MB up", column)) for width, column in _SIZES
            ),
        )
        for method in ("FedAvg", "FedProx", "FedRecon", "LG-FedAvg", "FedVocab")
    )
    return Panel(
        title="BiLSTM of 300 per direction",
        across="numbers per word",
        up="MB up per client and round",
        lines=tuple(lines),
    )


def _steps(title: str, table: str, rows: tuple[str, ...]) -> Panel:
    lines = (
        Line(
            label=column,
            points=tuple((place, At(table, row, column)) for place, row in enumerate(rows)),
        )
        for column in _ACCURACIES
    )
    return Panel(
        title=title,
        across=" · ".join(f"{place} {row}" for place, row in enumerate(rows)),
        up="accuracy",
        lines=tuple(lines),
    )


_TABLES = ("frozen tables", "slow tables, adaptive pass", "trained tables, adaptive pass")
PICTURES = (
    Picture(
        name="figure3",
        title="Figure 3: words recovered from gradients, by batch",
        panels=tuple(
            map(_reading, ("wrong table", "public table", "table rows", "crafted reader"))
        ),
    ),
    Picture(name="figure4", title="Figure 4: what a client sends", panels=(_communication(),)),
    Picture(
        name="figure6",
        title=(
            "Figure 6: the same public vectors for all clients (0), or one of three public tables"
            " each (1)"
        ),
        panels=(
            _steps(
                "SST-2",
                "ladder",
                ("trained tables, adaptive pass", "varied public tables, adaptive pass"),
            ),
        ),
    ),
    Picture(
        name="ladder",
        title="How far private tables may move, from frozen (0) over slow (1) to trained (2)",
        panels=(
            _steps("skewed labels", "ladder", _TABLES),
            _steps("even labels", "ladder-even", _TABLES),
        ),
    ),
)
