"""An evaluator of a server that has no rows to measure on."""

from __future__ import annotations

from typing import Any

from tacit.engine.loop import Evaluation
from tacit.rows import Vector


class NoFigures:
    """Measures nothing."""

    def after_round(self, model: Vector, state: Any, history: Any) -> Evaluation:
        """Return nothing."""
        return Evaluation()

    def at_the_end(self, model: Vector, rounds: int, history: Any) -> Evaluation:
        """Return nothing."""
        return Evaluation()
