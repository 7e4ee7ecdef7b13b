"""The vocabulary of promises: what leaves a client, what that can cost its owner, and whom one must believe.

No number stands alone. A loss says what it is per (its unit), under which change of data (its relation), how it adds
up (its count), and what it rests on (its trust). Four words stand for "no number": Free (nothing was released), Open
(released in the clear), Disclosed (the rows themselves were handed over) and Unproven (nobody knows; the ledger refuses
to add it up).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Relation = Literal["replace all rows of one client", "add or remove one client", "replace one row", "add or remove one row"]
View = Literal["nobody", "server", "peers", "everyone"]


@dataclass(frozen=True)
class Free:
    """Nothing about the client was released."""

    word = "free"


@dataclass(frozen=True)
class Open:
    """Released in the clear: no bound on what can be learned."""

    word = "open"


@dataclass(frozen=True)
class Unproven:
    """Altered before release, but with no proved bound."""

    word = "unproven"


@dataclass(frozen=True)
class Disclosed:
    """The rows themselves were handed over, in full; listed with their number, since nothing is left to bound."""

    word = "disclosed"


@dataclass(frozen=True)
class ApproximateDP:
    """Differential privacy of one use but for a chance of delta; uses add up in both."""

    epsilon: float
    delta: float
    word = "approximate"


@dataclass(frozen=True)
class PureDP:
    """Pure differential privacy of one use of the mechanism; uses add up."""

    epsilon: float
    word = "pure"

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or math.isinf(self.epsilon):
            raise ValueError(f"PureDP(epsilon={self.epsilon}) needs a finite value above 0; use Free() or Open()")


Loss = Free | Open | Unproven | Disclosed | ApproximateDP | PureDP


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What one update releases: `count` uses of a mechanism, each costing `loss` per `unit`.

    `largest_epsilon` bounds the whole update where that is less than count times loss.
    """

    mechanism: str
    loss: Loss
    unit: str
    count: int
    relation: Relation
    view: View
    trust: tuple[str, ...]
    source: str
    largest_epsilon: float = math.inf

    def per_update(self) -> float:
        """Return the pure epsilon of one whole update: infinite if it is open or unproven, 0 if nothing is released."""
        if isinstance(self.loss, Free):
            return 0.0
        if isinstance(self.loss, PureDP):
            return min(self.count * self.loss.epsilon, self.largest_epsilon)
        return math.inf
