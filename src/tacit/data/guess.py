"""A guess: what one column is for, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["label", "client", "split", "text", "numeric", "categorical", "left out"]


@dataclass(frozen=True, kw_only=True)
class Guess:
    """One column's role and why."""

    column: str
    role: Role
    why: str


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Roles that somebody named: the label, the owner and columns of text; None and nothing are guessed."""

    label: str | None = None
    client: str | None = None
    text: tuple[str, ...] = ()
