"""Public parameters that parties agree on before they compute, and the conversion of a range to
integers.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from tacit.errors import PlanError

FRACTION_BITS = 20
STEP = 2.0**-FRACTION_BITS
"""Resolution of a negotiated range."""

LIMIT = 2.0**31
"""Largest absolute value of a range."""

FEWEST, MOST = 3, 7
"""Smallest and largest number of parties: two cannot have an honest majority; more than seven were
never measured.
"""

PROTOCOL = f"tacit-negotiate-1 mpyc-0.11 fixed-point {FRACTION_BITS} bits below {LIMIT:.0f}"
"""Identifies the computation and its number format; parties that differ in it cannot negotiate."""


@dataclass(frozen=True, kw_only=True)
class NegotiationTerms:
    """The public parameters of one negotiation. They are no secret; parties compare hashes of them.

    Example:
    >>> NegotiationTerms(run="mine", parties=3, levels=8, enlargement=2.0).levels
    8
    """

    run: str
    parties: int
    levels: int
    enlargement: float
    """The largest absolute value of the range, divided by the enlargement on either side."""

    def __post_init__(self) -> None:
        if not (isinstance(self.run, str) and 1 <= len(self.run) <= 80 and self.run.isprintable()):
            raise PlanError("negotiate: the name of the run must have 1 to 80 printable characters")
        if not (_is_integer(self.parties) and FEWEST <= self.parties <= MOST):
            raise PlanError(
                f"negotiate: there must be {FEWEST} to {MOST} parties, got {self.parties}; with"
                " fewer no majority can be honest; give every party's address"
            )
        if not (_is_integer(self.levels) and 1 <= self.levels <= 32):
            raise PlanError(f"negotiate: levels must be an integer from 1 to 32, got {self.levels}")
        if not (
            isinstance(self.enlargement, float)
            and math.isfinite(self.enlargement)
            and 0 < self.enlargement <= LIMIT
        ):
            raise PlanError(
                f"negotiate: enlargement must be positive and at most {LIMIT:.0f}, got"
                f" {self.enlargement}; 2.0 is usual"
            )

    def digests(self) -> dict[str, bytes]:
        """SHA-256 of each parameter, so that parties can name one that differs without revealing
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


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def to_steps(x_min: float, x_max: float) -> tuple[int, int]:
    """Convert a range to integer steps of 2^-20, rounded outwards so that it still covers every
    value.

    Edge cases: raises PlanError for NaN, infinities, an inverted range, or values beyond 2^31.

    >>> to_steps(-0.5, 0.25)
    (-524288, 262144)
    """
    # The values themselves are private, so the error does not repeat them.
    if not (math.isfinite(x_min) and math.isfinite(x_max) and x_min <= x_max):
        raise PlanError("negotiate: --range must be two finite numbers, the smaller first")
    if max(-x_min, x_max) > LIMIT:
        raise PlanError(f"negotiate: --range must lie within ±{LIMIT:.0f}; scale the values")
    return math.floor(x_min / STEP), math.ceil(x_max / STEP)
