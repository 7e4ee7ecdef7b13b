"""Answers to queries, as lines of text and as bars, the same on the terminal and on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.report.phrasing import NONE
from tacit.runs.record import RUN, Answered, Entry, select_entries

Tree = dict[str, Any]
HEADINGS = ("answer", "", "value", "interval")
_COUNTED = ("count", "missing", "categories", "histogram", "frequent", "distinct")
"""Kinds of queries whose figures are counts, drawn from zero."""


@dataclass(frozen=True, kw_only=True)
class AnswerBar:
    """One figure of a query: its texts, and in percent of the width the bar and the interval."""

    label: str
    value: str
    interval: str
    bar: float | None
    low: float
    high: float
    zero: float


@dataclass(frozen=True, kw_only=True)
class AnswerSection:
    """One query: what was asked, its figures, and what they leave out."""

    name: str
    query: str
    bars: tuple[AnswerBar, ...]
    is_counted: bool
    note: str


def select_answers(entries: list[Entry]) -> tuple[Tree, ...]:
    """The answers in a record; empty if the run has none."""
    found = select_entries(entries, Answered, RUN)
    return tuple(found[-1].answers) if found else ()


def list_answer_cells(answers: Sequence[Tree]) -> list[tuple[str, ...]]:
    """Cells of each figure, in the order of HEADINGS; the name of a query stands in its first row."""
    return [
        (
            answer["name"] if number == 0 else "",
            figure["label"],
            format_number(figure["value"]),
            _format_interval(figure),
        )
        for answer in answers
        for number, figure in enumerate(
            answer["figures"] or [{"label": "none found", "value": None}]
        )
    ]


def describe_confidence(answers: Sequence[Tree]) -> str:
    """What the intervals mean."""
    if not answers:
        return ""
    return (
        "Each interval contains the figure that the same rows give without noise with a probability"
        f" of {100 * answers[0]['confidence']:g} %."
    )


def build_sections(answers: Sequence[Tree]) -> list[AnswerSection]:
    """The answers as sections of the page."""
    return [
        AnswerSection(
            name=answer["name"],
            query=answer["query"],
            bars=tuple(_build_bars(answer)),
            is_counted=answer["kind"] in _COUNTED,
            note=_describe(answer),
        )
        for answer in answers
    ]


def format_number(value: float | None) -> str:
    """A figure with about five digits."""
    if value is None:
        return NONE
    size = abs(value)
    if size >= 10_000 or value == int(value):
        return f"{value:,.0f}".replace("-", "−")
    digits = 1 if size >= 100 else 2 if size >= 1 else 4
    return f"{value:,.{digits}f}".replace("-", "−")


def _format_interval(figure: Tree) -> str:
    low, high = figure.get("low"), figure.get("high")
    if low is None or high is None:
        return NONE
    return f"{format_number(low)} to {format_number(high)}"


def _describe(answer: Tree) -> str:
    note = str(answer["note"])
    noise = f"Standard deviation of the noise on a count: {format_number(answer['noise'])}."
    return f"{noise} {note[0].upper()}{note[1:]}." if note else noise


def _build_bars(answer: Tree) -> list[AnswerBar]:
    """Bars on a common scale: counts from zero, other figures between the ends of all intervals."""
    figures = answer["figures"]
    drawn = [one for one in figures if _is_drawn(one, answer["kind"])]
    ends = [one[end] for one in drawn for end in ("low", "high", "value") if one[end] is not None]
    counted = answer["kind"] in _COUNTED
    low = min([0.0, *ends] if counted else ends, default=0.0)
    high = max([0.0, *ends] if counted else ends, default=1.0)
    spread = high - low if high > low else 1.0
    if not counted:
        low, spread = low - 0.05 * spread, 1.1 * spread

    def place(value: float | None) -> float:
        return round(100 * ((value or 0.0) - low) / spread, 3) if value is not None else math.nan

    return [
        AnswerBar(
            label=one["label"],
            value=format_number(one["value"]),
            interval=_format_interval(one),
            bar=place(one["value"]) if one in drawn and one["value"] is not None else None,
            low=place(one["low"]) if one in drawn and one["low"] is not None else 0.0,
            high=place(one["high"]) if one in drawn and one["high"] is not None else 0.0,
            zero=place(0.0) if counted else 0.0,
        )
        for one in figures
    ]


def _is_drawn(figure: Tree, kind: str) -> bool:
    """Whether a figure shares the scale of the others; numbers of rows next to a mean do not."""
    return kind in _COUNTED or figure["label"] != "rows"
