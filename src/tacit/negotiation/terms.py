"""What parties must have agreed on in public before they compute anything, and how a range becomes
whole numbers.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from tacit.errors import PlanError

FRACTION_BITS = 20
STEP = 2.0**-FRACTION_BITS
"""The resolution of a negotiated range."""

LIMIT = 2.0**31
"""The largest absolute value a range may hold."""

FEWEST, MOST = 3, 7
"""How many parties can negotiate: with two, no majority is honest; above seven nothing was
measured.
"""

PROTOCOL = f"tacit-negotiate-1 mpyc-0.11 fixed-point {FRACTION_BITS} bits below {LIMIT:.0f}"
"""What is computed, with what and in which numbers; parties that differ in this cannot understand
each other.
"""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The public parameters of one negotiation. They are no secret; parties compare hashes of them.

    Example:
    >>> Terms(run="mine", parties=3, levels=8, enlargement=2.0).levels
    8
    """

    run: str
    parties: int
    levels: int
    enlargement: float
    """The largest absolute value of the range, divided by what the range is enlarged by on either
    side.
    """

    def __post_init__(self) -> None:
        if not (isinstance(self.run, str) and 1 <= len(self.run) <= 80 and self.run.isprintable()):
            raise PlanError(
                "negotiate needs a run's name of 1 to 80 printable characters; name the run it"
                " is for"
            )
        if not (_whole(self.parties) and FEWEST <= self.parties <= MOST):
            raise PlanError(
                f"negotiate(parties={self.parties}) needs {FEWEST} to {MOST} parties: with fewer no"
                " majority can be honest; name every party's address"
            )
        if not (_whole(self.levels) and 1 <= self.levels <= 32):
            raise PlanError(f"negotiate(levels={self.levels}) needs a whole number from 1 to 32")
        if not (
            isinstance(self.enlargement, float)
            and math.isfinite(self.enlargement)
            and 0 < self.enlargement <= LIMIT
        ):
            raise PlanError(
                f"negotiate(enlargement={self.enlargement}) needs a positive number up to"
                f" {LIMIT:.0f}; 2.0 is usual"
            )

    def digests(self) -> dict[str, bytes]:
        """Return a SHA-256 per parameter, so that parties can say which one differs without showing
        it.
        """
        fields = {
            "protocol": PROTOCOL,
            "run": self.run,
            "number of parties": self.parties,
            "levels": self.levels,
            "enlargement": self.enlargement,
        }
        return {
            name: hashlib.sha256(f"{name}={value!r}".encode()).digest()
            for name, value in fields.items()
        }


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def to_steps(x_min: float, x_max: float) -> tuple[int, int]:
    """Return a range as whole steps of 2^-20, rounded outwards so that nothing in the range falls
    out of it.

    Edge cases: raises PlanError for NaN, infinities, a range the wrong way round, or values beyond
    2^31.

    >>> to_steps(-0.5, 0.25)
    (-524288, 262144)
    """
    # The values themselves are private, so the error does not repeat them.
    if not (math.isfinite(x_min) and math.isfinite(x_max) and x_min <= x_max):
        raise PlanError(
            "negotiate needs a local range of two finite numbers, the smaller first; check --range"
        )
    if max(-x_min, x_max) > LIMIT:
        raise PlanError(f"negotiate needs a local range within ±{LIMIT:.0f}; scale the values")
    return math.floor(x_min / STEP), math.ceil(x_max / STEP)
