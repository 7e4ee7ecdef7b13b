"""Introduces the rooms to each other: what a round is, what carries it, and how a whole run goes
through its rounds.

`start` and `resume` are loaded when first asked for: whoever only looks at a run's folder need not
load what trains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.protocol.observer import Observer, Silence

if TYPE_CHECKING:
    from tacit.simulation.job import resume, start

__all__ = ["Observer", "Silence", "resume", "start"]


def __getattr__(name: str) -> Any:
    if name not in ("resume", "start"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tacit.simulation import job

    return getattr(job, name)
