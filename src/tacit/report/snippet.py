"""A run as a small table for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from tacit.report.figures import HEADINGS, list_cells, summarise
from tacit.runs.record import Entry

_CELL = "padding:.25em .8em;text-align:{side};white-space:nowrap"


def render_snippet(entries: Iterable[Entry], name: str | None = None) -> str:
    """Render an HTML fragment with the result table and the privacy statement, without scripts or
    external resources.
    """
    run = summarise(entries, name)
    head = "".join(
        f'<th style="{_side(place)}">{escape(heading)}</th>'
        for place, heading in enumerate(HEADINGS)
    )
    rows = "".join(_row(list_cells(arm)) for arm in run.arms)
    return (
        f"<div><p><strong>{escape(run.name)}</strong> · {escape(run.state)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f'<p style="max-width:60em">{escape(run.privacy.statement)}</p></div>'
    )


def _row(texts: tuple[str, ...]) -> str:
    return (
        "<tr>"
        + "".join(
            f'<td style="{_side(place)}">{escape(text)}</td>' for place, text in enumerate(texts)
        )
        + "</tr>"
    )


def _side(place: int) -> str:
    return _CELL.format(side="left" if place in (0, len(HEADINGS) - 1) else "right")
