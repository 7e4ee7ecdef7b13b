"""A guessed column role with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["label", "client", "split", "text", "numeric", "categorical", "left out"]


@dataclass(frozen=True, kw_only=True)
class Guess:
    """One column's role and the reason."""

    column: str
    role: Role
    why: str


@dataclass(frozen=True, kw_only=True)
class StarterRequest:
    """What the user stated about a table and its plan; None or empty fields are guessed.

    `label`, `client` and `text` are roles of columns; `encoding` and `header` are as in `[data]`,
    `test_source` is a file of test rows. `epsilon` is the privacy budget per run; with `one_bit`,
    weights are sent as randomised bits instead, and rows without an owner are divided among that
    number of clients.
    """

    label: str | None = None
    client: str | None = None
    text: tuple[str, ...] = ()
    epsilon: float | None = None
    one_bit: int | None = None
    encoding: str | None = None
    header: bool | None = None
    test_source: str | None = None
