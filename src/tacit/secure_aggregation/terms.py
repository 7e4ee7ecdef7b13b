"""What clients, leader and helpers of secure aggregation know before round one. None of it is
secret.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from tacit.secure_aggregation.seal import count_seal_bytes

KEY = 32
"""Bytes of a key that client and helper share for a run, of a round's seed (an AES-256 key), and of
a round's token.
"""
SIGNATURE = 64
"""Bytes of an Ed25519 signature."""
SALT = 16
"""Bytes of the salt, by which a client's seeds depend on the numbers they mask."""
TAG = 32
"""Bytes of the tag that identifies the sum to which a helper's part belongs."""


@dataclass(frozen=True, kw_only=True)
class AggregationTerms:
    """One sum of a run: its size and number of bits, and the helpers' public keys in order.

    `digest` covers everything the parties agreed on: plan, members, keys, nonces. Each party
    computes it from what it holds. A helper responds for at least `min_clients` per round, and in
    no round after `rounds`.
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
        """SHA-256 of all fields. Seals, signatures, tokens, seeds and helpers' parts are bound to
        it.
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
        """Context to which a client's keys are bound by seal and signature."""
        return msgspec.msgpack.encode(("tacit sealed keys", self.binding, client))

    def tag(self, round_no: int, names: Sequence[int]) -> bytes:
        """SHA-256 of this sum, a round and a set of clients. Helpers' parts are summed only if
        their tags are equal.
        """
        return hashlib.sha256(
            msgspec.msgpack.encode(("tacit helper part", self.binding, round_no, list(names)))
        ).digest()

    @cached_property
    def sealed_sizes(self) -> tuple[int, ...]:
        """Bytes of a key sealed to each helper."""
        return tuple(KEY + count_seal_bytes(public) for public in self.helpers)

    @cached_property
    def envelope_size(self) -> int:
        """Bytes of one client's envelope: sealed keys, signature, salt and tokens."""
        return sum(self.sealed_sizes) + SIGNATURE + SALT + KEY * len(self.helpers)

    @property
    def share_size(self) -> int:
        """Bytes of one share."""
        return self.size * self.bits // 8
