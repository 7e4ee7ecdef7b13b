"""Precision and recall of the final model on each class, from the record's counts, for terminal,
page and JSON; and standard errors of metrics on few test rows.
"""

from __future__ import annotations

import math
from typing import Any

from tacit.report import phrasing
from tacit.report.figures import Summary
from tacit.runs.record import RUN, ByClass

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


def estimate_error(metric: str, value: float, rows: int, counts: ByClass | None) -> float:
    """Estimate the standard error of an accuracy or an AUC on `rows` test rows.

    Rows are taken as independent. `counts` has the rows of each class; without them an AUC is taken
    to have equal classes.

    Source: Agresti and Coull 1998, Approximate is better than "exact" (accuracy; never 0); Hanley
    and McNeil 1982, The meaning and use of the area under a ROC curve, equation 2 (AUC).
    """
    if metric == "accuracy":
        share = (value * rows + 2) / (rows + 4)
        return math.sqrt(share * (1 - share) / (rows + 4))
    negative, positive = counts.rows if counts and len(counts.rows) == 2 else (rows / 2, rows / 2)
    negative, positive = max(1.0, negative), max(1.0, positive)
    area = min(max(value, 1 - value), 1 - 1 / (2 * negative * positive + 2))
    variance = (
        area * (1 - area)
        + (positive - 1) * (area / (2 - area) - area**2)
        + (negative - 1) * (2 * area**2 / (1 + area) - area**2)
    )
    return math.sqrt(variance / (negative * positive))
