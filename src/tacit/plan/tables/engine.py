"""[engine]: settings that change how fast a run is, never what comes out of it."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Engine:
    """Settings that change how fast a run is, never what comes out of it."""

    workers: Annotated[int, Ge(1), Le(256)] = 2
    """Parallel workers. Changes how fast a run is, never what comes out."""
