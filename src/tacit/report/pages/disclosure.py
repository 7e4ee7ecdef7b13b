"""What would leave, as one small page for the data owner: no script, nothing loaded from
anywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit.report.pages.template import render_template
from tacit.runs.record import DisclosedRows

_MOST_BARS = 40


class _Bar(NamedTuple):
    """One bar: what it is of, what leaves and what stays in percent of the longest, and both in
    words.
    """

    name: str
    leaves: float
    stays: float
    said: str


def render_disclosure(
    shared: DisclosedRows,
    rows_per_client: list[int],
    looks: list[dict[str, Any]],
    refused: list[str],
) -> str:
    """Return the page: the sentence to read, bars of rows kept and shared, labels on either side,
    and some classes.

    `looks` are classes that would leave (`values`, `rows`, `labels`); `refused` says where the
    owner's policy is broken.
    """
    clients = list(zip(shared.rows_per_client, rows_per_client, strict=True))[:_MOST_BARS]
    labels = [
        (name, rows, shared.labels_kept.get(name, 0))
        for name, rows in shared.labels_disclosed.items()
    ][:_MOST_BARS]
    return render_template(
        "disclosure.html",
        {},
        shared=shared,
        share=100 * shared.rows / max(1, shared.of_rows),
        refused=refused,
        clients=_bars(
            [
                (f"client {number}", given, held - given)
                for number, (given, held) in enumerate(clients)
            ]
        ),
        labels=_bars(labels),
        looks=looks,
    )


def _bars(rows: list[tuple[str, int, int]]) -> list[_Bar]:
    longest = max((given + kept for _, given, kept in rows), default=0) or 1
    return [
        _Bar(
            name,
            round(100 * given / longest, 2),
            round(100 * kept / longest, 2),
            f"{given:,} of {given + kept:,}",
        )
        for name, given, kept in rows
    ]
