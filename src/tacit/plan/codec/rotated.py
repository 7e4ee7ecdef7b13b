"""Codecs that rotate an update before they randomise it: `projunit`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Length, Needs, Per


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ProjUnit:
    """A short random vector that leans towards the update: sound for the whole update, trusting nobody."""

    unit: ClassVar[str] = "update"
    USUAL: ClassVar[int] = 1000
    name: Literal["projunit"] = "projunit"
    epsilon: Annotated[float, Ge(1e-2), Le(16), Needs("a value"), Per(unit)]
    """The loss one update may cost, **per update**."""
    clip: Length
    """Largest length (l2) of an update; longer ones are scaled. Public, never computed from data."""
    coordinates: Annotated[int, Ge(32), Le(1_000_000_000)] | None = None
    """How many numbers a message has, 16 bits each; more of them hardly help. If not given, 1000, or all parameters if fewer."""
