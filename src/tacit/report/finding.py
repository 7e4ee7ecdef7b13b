"""One thing that is said about a run's result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ResultFinding:
    """One thing about a run's result: of which kind, what is so, and what to change (nothing if all
    is well).
    """

    kind: str
    says: str
    change: str = ""

    @property
    def sentence(self) -> str:
        """Both halves as one paragraph."""
        return f"{self.says} {self.change}".strip()
