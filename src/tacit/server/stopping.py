"""When more rounds would not help."""

from __future__ import annotations


def should_stop(losses: list[float], patience: int | None) -> bool:
    """Return whether the last `patience` evaluations all failed to go below the best loss before
    them.
    """
    if patience is None or len(losses) <= patience:
        return False
    return min(losses[-patience:]) >= min(losses[:-patience])
