"""`plain`: unmodified updates."""

from __future__ import annotations

from typing import Literal

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Positive


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Plain:
    """Unmodified 32-bit numbers: no protection."""

    name: Literal["plain"] = "plain"
    clip_l2: Positive | None = None
    """Maximum L2 norm of an update; larger updates are scaled down. Clipping alone protects nobody;
    it isolates the effect of a private plan's clip from that of its noise.
    """
