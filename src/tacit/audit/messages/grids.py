"""Tables of the audit's figures, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.audit.messages.attack import LABELS
from tacit.audit.messages.audit import Figure, MessageAudit, MessageAuditLine
from tacit.audit.messages.holdings import WORDS
from tacit.audit.messages.views import NO_MESSAGE

NONE = "–"
Grid = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""A title, headings and rows; the first column is text, the others are figures."""


def build_grids(audit: MessageAudit) -> list[Grid]:
    """Build one table per target, and one with the AUC of each column."""
    found = [_grid(audit, what) for what in audit.things]
    columns = [line for line in audit.lines if line.column]
    return [*found, *([_build_column_grid(columns)] if columns else ())]


def _grid(audit: MessageAudit, what: str) -> Grid:
    lines = audit.of(what)
    if what == LABELS:
        title = "Labels: which of two clients has more rows of a class"
        return (
            title,
            ("seen by", "right", "95 %", "chance"),
            [(line.who, _auc(line.auc), _ends(line.auc), ".500") for line in lines],
        )
    size, held = audit.sizes[what]
    title = (
        f"{what.capitalize()}: which of {size:,} inputs are present at a client; {held:,.0f} are "
        "on average"
    )
    headings = (
        "seen by",
        "AUC",
        "95 %",
        "found",
        "95 %",
        "by chance",
        "without: AUC",
        "… found",
        "words named",
    )
    rows = [_row(line) for line in lines]
    return (
        title,
        headings if what == WORDS else headings[:-1],
        rows if what == WORDS else [row[:-1] for row in rows],
    )


def _row(line: MessageAuditLine) -> tuple[str, ...]:
    return (
        line.who,
        _auc(line.auc),
        _ends(line.auc),
        _share(line.found),
        _shares(line.found),
        _percent(line.chance),
        _auc(line.auc_without),
        _share(line.found_without),
        _share(line.named),
    )


def _build_column_grid(lines: list[MessageAuditLine]) -> Grid:
    parties = [who for who in dict.fromkeys(line.who for line in lines) if who != NO_MESSAGE]
    auc = {(line.what, line.who): line.auc for line in lines}
    rows = [
        (what, *(_auc(auc.get((what, who))) for who in parties))
        for what in dict.fromkeys(line.what for line in lines)
    ]
    return "AUC by column", ("column", *parties), rows


def build_example_grids(audit: MessageAudit) -> Iterable[Grid]:
    """Yield the highest scores of some clients: the attacker's guesses and the true values."""
    for example in audit.examples:
        title = (
            f"Client {example.client}, {example.what}, seen by {example.who}: the highest of"
            f" {example.held:,} scores"
        )
        headings: tuple[str, ...] = ("input", "there")
        rows: list[tuple[str, ...]] = [
            (one.place, "yes" if one.true else "no") for one in example.guesses
        ]
        if example.what == WORDS:
            headings = ("input", "public words there", "how many", "the client's own words there")
            rows = [
                (one.place, _some(one.candidates), f"{one.sharing:,}", _some(one.true))
                for one in example.guesses
            ]
        yield title, headings, rows


def write_heading(audit: MessageAudit) -> str:
    """Describe in one paragraph what was attacked and what the figures mean."""
    named = ""
    if audit.public_words:
        named = (
            " Words named: the share of a client's words that the most frequent of"
            f" {audit.public_words:,} public words of a found input names; {audit.sharing:.1f}"
            " public words share an input."
        )
    seeds = ", ".join(map(str, audit.seeds))
    return (
        f"{audit.clients} of the first round's {audit.cohort:,} clients, seeds {seeds}; each sends"
        f" {audit.parameters:,} numbers: {'; '.join(audit.mechanism)}. Found: the share of true"
        " items among as many highest scores; their number is assumed to be known. Without: the"
        " same attack on another client's message, or on the sum without the client." + named
    )


def _some(words: list[str]) -> str:
    return " ".join(words) or NONE


def _auc(figure: Figure | None) -> str:
    return NONE if figure is None or figure.mean != figure.mean else _three(figure.mean)


def _ends(figure: Figure | None) -> str:
    if figure is None or figure.low is None or figure.high is None:
        return NONE
    return f"{_three(max(0.0, figure.low))} to {_three(min(1.0, figure.high))}"


def _three(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _share(figure: Figure | None) -> str:
    return NONE if figure is None else _percent(figure.mean)


def _shares(figure: Figure | None) -> str:
    if figure is None or figure.low is None or figure.high is None:
        return NONE
    return f"{100 * max(0.0, figure.low):.1f} to {100 * min(1.0, figure.high):.1f}"


def _percent(share: float | None) -> str:
    return NONE if share is None or share != share else f"{100 * share:.1f} %"
