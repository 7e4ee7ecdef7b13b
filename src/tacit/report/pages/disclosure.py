"""Preview of the rows that a plan would disclose, as a small page for the data owner, without
scripts or external resources.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit.report.pages.template import render_template
from tacit.runs.record import DisclosedRows

_MOST_BARS = 40


class _Bar(NamedTuple):
    """One bar: its name, rows disclosed and rows kept in percent of the longest bar, and both as
    text.
    """

    name: str
    disclosed: float
    kept: float
    text: str


def render_disclosure(
    shared: DisclosedRows,
    rows_per_client: list[int],
    looks: list[dict[str, Any]],
    refused: list[str],
) -> str:
    """Render the page: a summary, bars of rows kept and disclosed, labels on either side, and some
    equivalence classes.

    `looks` are equivalence classes that would be disclosed (`values`, `rows`, `labels`); `refused`
    lists violations of the owner's policy.
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
                (f"client {number}", disclosed, rows - disclosed)
                for number, (disclosed, rows) in enumerate(clients)
            ]
        ),
        labels=_bars(labels),
        looks=looks,
    )


def _bars(rows: list[tuple[str, int, int]]) -> list[_Bar]:
    longest = max((disclosed + kept for _, disclosed, kept in rows), default=0) or 1
    return [
        _Bar(
            name,
            round(100 * disclosed / longest, 2),
            round(100 * kept / longest, 2),
            f"{disclosed:,} of {disclosed + kept:,}",
        )
        for name, disclosed, kept in rows
    ]
