"""What clients, leader and helpers of a secure sum know before round one. Nothing in it is secret."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec

from tacit.secure_sum.seal import sealed_size

KEY = 32
"""Bytes of what a client shares with a helper for a run, of a round's seed (a key of AES-256), and of a round's token."""
SIGNATURE = 64
"""Bytes of an Ed25519 signature."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Which sum of which run it is, how many numbers of how many bits, and the helpers' public keys, in order.

    A helper answers for at least `least_clients` in a round, and in no round after the last of `rounds`.
    """

    run: str
    plan: str
    exchange: str
    size: int
    bits: int
    helpers: tuple[bytes, ...]
    least_clients: int
    rounds: int

    def context(self, client: int) -> bytes:
        """Return what a client's keys are bound to, by seal and signature: anywhere else they do not open.

        The plan's fingerprint covers everything both sides agreed on.
        """
        return msgspec.msgpack.encode(("tacit secure sum", self.run, self.plan, self.exchange, client, self.size, self.bits))

    @cached_property
    def sealed_sizes(self) -> tuple[int, ...]:
        """Return the bytes of a key sealed to each helper."""
        return tuple(KEY + sealed_size(public) for public in self.helpers)

    @cached_property
    def envelope_size(self) -> int:
        """Return the bytes of one client's envelope: a sealed key for each helper, the signature, and a token for each helper."""
        return sum(self.sealed_sizes) + SIGNATURE + KEY * len(self.helpers)

    @property
    def share_size(self) -> int:
        """Return the bytes of one share of numbers."""
        return self.size * self.bits // 8
