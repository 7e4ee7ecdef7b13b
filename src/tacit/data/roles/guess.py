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
class StarterRequest:
    """What somebody said of a table and of the plan for it; what is None or empty is guessed.

    `label`, `client` and `text` are roles of columns; `encoding` and `header` are as in `[data]`,
    `test_source` is a file of test rows. `epsilon` is the promise per run; with `one_bit`, weights
    leave as randomised bits instead, and rows without an owner are dealt to that number of clients.
    """

    label: str | None = None
    client: str | None = None
    text: tuple[str, ...] = ()
    epsilon: float | None = None
    one_bit: int | None = None
    encoding: str | None = None
    header: bool | None = None
    test_source: str | None = None
