"""What clients, leader and helpers of a secure sum know before round one. Nothing in it is
secret.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from tacit.secure_aggregation.seal import sealed_size

KEY = 32
"""Bytes of what a client shares with a helper for a run, of a round's seed (a key of AES-256), and
of a round's token.
"""
SIGNATURE = 64
"""Bytes of an Ed25519 signature."""
SALT = 16
"""Bytes that make a client's seeds of a round depend on the numbers they mask."""
TAG = 32
"""Bytes by which a helper's part says what it is a part of."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Which sum of which run it is, how many numbers of how many bits, and the helpers' public
    keys, in order.

    `digest` covers everything the parties agreed on: plan, members, keys, nonces. Each party
    computes it from what it holds. A helper answers for at least `min_clients` in a round, and in
    no round after the last of `rounds`.
    """

    run: str
    digest: str
    exchange: str
    size: int
    bits: int
    helpers: tuple[bytes, ...]
    min_clients: int
    rounds: int

    @cached_property
    def binding(self) -> bytes:
        """SHA-256 of all of the above. Seals, signatures, tokens, seeds and helpers' parts are
        bound to it.
        """
        sizes = self.size, self.bits, self.min_clients, self.rounds
        content = (
            "tacit secure sum",
            self.run,
            self.digest,
            self.exchange,
            *sizes,
            list(self.helpers),
        )
        return hashlib.sha256(msgspec.msgpack.encode(content)).digest()

    def context(self, client: int) -> bytes:
        """Bytes that a client's keys are bound to, by seal and signature: in any other context they
        do not open.
        """
        return msgspec.msgpack.encode(("tacit sealed keys", self.binding, client))

    def tag(self, round_no: int, names: Sequence[int]) -> bytes:
        """SHA-256 of this sum, a round and a set of clients: it marks helpers' parts, which add up
        only if their tags are equal.
        """
        return hashlib.sha256(
            msgspec.msgpack.encode(("tacit helper part", self.binding, round_no, list(names)))
        ).digest()

    @cached_property
    def sealed_sizes(self) -> tuple[int, ...]:
        """Return the bytes of a key sealed to each helper."""
        return tuple(KEY + sealed_size(public) for public in self.helpers)

    @cached_property
    def envelope_size(self) -> int:
        """Return the bytes of one client's envelope: a sealed key for each helper, the signature,
        the round's salt, and a token for each helper.
        """
        return sum(self.sealed_sizes) + SIGNATURE + SALT + KEY * len(self.helpers)

    @property
    def share_size(self) -> int:
        """Return the bytes of one share of numbers."""
        return self.size * self.bits // 8
