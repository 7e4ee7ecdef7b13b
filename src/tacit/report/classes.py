"""Precision and recall of the final model on each class, from the record's counts, for terminal,
page and JSON.
"""

from __future__ import annotations

from typing import Any

from tacit.report import phrasing
from tacit.report.figures import Summary
from tacit.runs.record import RUN

HEADINGS = ("class", "rows", "predicted", "precision", "recall")


def measure_classes(run: Summary) -> list[dict[str, Any]]:
    """Test rows, predictions, precision and recall of each class (None where nothing was counted)."""
    ours = run.arm(RUN)
    counts = ours.by_class if ours else None
    if counts is None or run.data is None:
        return []
    figures = zip(run.data.classes, counts.rows, counts.predicted, counts.right, strict=True)
    return [
        {
            "name": name,
            "rows": rows,
            "predicted": predicted,
            "precision": right / predicted if predicted else None,
            "recall": right / rows if rows else None,
        }
        for name, rows, predicted, right in figures
    ]


def list_cells(run: Summary) -> list[tuple[str, ...]]:
    """Rows of the table, in the order of HEADINGS, lowest recall first."""
    found = sorted(
        measure_classes(run), key=lambda one: (one["recall"] is None, one["recall"] or 0.0)
    )
    return [
        (
            str(one["name"]),
            f"{one['rows']:,}",
            f"{one['predicted']:,}",
            phrasing.format_metric("accuracy", one["precision"]),
            phrasing.format_metric("accuracy", one["recall"]),
        )
        for one in found
    ]
