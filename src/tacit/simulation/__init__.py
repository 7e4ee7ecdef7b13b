"""Simulations: all clients of a run on one machine.

`start` and `resume` are imported on first use, so that reading a run's folder does not import the
training code.
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
