"""`plain`: updates as they are."""

from __future__ import annotations

from typing import Literal

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Positive


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Plain:
    """32-bit numbers as they are: no protection."""

    name: Literal["plain"] = "plain"
    clip_l2: Positive | None = None
    """Largest L2 norm of an update; larger ones are scaled. Clipping alone protects nobody: it
    shows what the clip of a private plan costs without its noise.
    """
