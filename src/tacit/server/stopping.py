"""Early stopping."""

from __future__ import annotations


def should_stop(losses: list[float], patience: int | None) -> bool:
    """Whether none of the last `patience` evaluations improved on the best earlier loss."""
    if patience is None or len(losses) <= patience:
        return False
    return min(losses[-patience:]) >= min(losses[:-patience])
