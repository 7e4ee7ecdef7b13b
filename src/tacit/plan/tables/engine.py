"""[engine]: settings that change the speed of a run, never its result."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Engine:
    """Settings that change the speed of a run, never its result."""

    workers: Annotated[int, Ge(1), Le(256)] = 2
    """Number of parallel workers. Any number gives the same result."""
