"""What all sites know before they negotiate, and the steps they take."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec

from tacit.errors import WireError

Step = Literal["keys", "words", "range", "open", "confirm", "done"]
"""In `keys` sites exchange public keys and commit to their random words, in `words` they send these
sealed to each other, in `range` they commit to masked contributions to the range, in `open` they
send them, in `confirm` they compare the result. `done` carries the last messages and has no answer.
"""

FEWEST_SITES = 3
"""Of two sites each would know the other's range from the result."""


@dataclass(frozen=True, kw_only=True)
class ExchangeTerms:
    """A negotiation between sites: the run, the digest of its plan and terms, its sites in order
    with the public keys they sign with, and the largest absolute value of the range.

    Without `limit` the sites agree on a secret only. Each site takes the keys from its own owner,
    never from the server.
    """

    run: str
    digest: str
    sites: tuple[str, ...]
    keys: Mapping[str, bytes]
    limit: float | None = None

    def __post_init__(self) -> None:
        if len(self.sites) < FEWEST_SITES:
            raise WireError(
                f"negotiation refused: it needs at least {FEWEST_SITES} sites, got"
                f" {len(self.sites)}; each of two would know the other's range from the result"
            )
        if len({self.keys[site] for site in self.sites}) < len(self.sites):
            raise WireError(
                "negotiation refused: two sites have the same signing key, so one party would take"
                " part twice"
            )

    @cached_property
    def binding(self) -> bytes:
        """SHA-256 of all fields. Keys, seals, commitments and signatures are bound to it."""
        keys = [self.keys[site] for site in self.sites]
        content = ("tacit site negotiation 1", self.run, self.digest, self.sites, keys, self.limit)
        return hashlib.sha256(msgspec.msgpack.encode(content)).digest()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order."""
        return list_steps(with_range=self.limit is not None)


def list_steps(*, with_range: bool) -> tuple[Step, ...]:
    """The steps of a negotiation in order."""
    middle: tuple[Step, ...] = ("range", "open") if with_range else ()
    return ("keys", "words", *middle, "confirm", "done")
