"""Figures of runs whose clients have models of their own: before and after one more local training."""

from __future__ import annotations

from tacit.report import phrasing
from tacit.report.figures import Summary
from tacit.report.finding import ResultFinding

_PAIRS = {
    "on common test rows": ("assembled_global", "global_accuracy"),
    "on rows like a client's own": ("assembled_local", "local_accuracy"),
}


def state_both_figures(run: Summary) -> ResultFinding | None:
    """State that the final figures are of models after one more local training, with those before
    it; None where clients share one model.
    """
    arms = [arm for arm in run.arms if "assembled_global" in arm.metrics]
    if not arms:
        return None
    parts = [
        f"{arm.title}: "
        + ", ".join(
            f"{where} {_format(arm.metrics[before])} before and {_format(arm.metrics[after])} after"
            for where, (before, after) in _PAIRS.items()
        )
        for arm in arms
    ]
    return ResultFinding(
        kind="own models",
        says=(
            "Each client has its own model. The table shows the last figures after one more local"
            " training; the figures of single rounds are before it. Accuracy before and after it:"
            f" {'; '.join(parts)}."
        ),
    )


def _format(value: float) -> str:
    return phrasing.format_metric("accuracy", value)
