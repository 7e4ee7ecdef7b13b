"""`plain`: updates as they are."""

from __future__ import annotations

from typing import Literal

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Plain:
    """32-bit numbers as they are: no protection."""

    name: Literal["plain"] = "plain"
