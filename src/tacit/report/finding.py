"""One finding about a run's result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ResultFinding:
    """One finding about a run's result: its kind, what was found, and what to change (empty if
    nothing).
    """

    kind: str
    says: str
    change: str = ""

    @property
    def sentence(self) -> str:
        """Finding and advice as one paragraph."""
        return f"{self.says} {self.change}".strip()
