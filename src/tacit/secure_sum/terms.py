"""What clients, leader and helpers of a secure sum know before round one. Nothing in it is secret."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tacit.secure_sum.seal import sealed_size

SEED = 32
"""Bytes of a seed: a key of AES-256."""
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

    def context(self, round_no: int, client: int) -> bytes:
        """Return what a seed is bound to, by its seal and its signature: used for anything else, it does not open.

        The plan's fingerprint covers everything both sides agreed on.
        """
        return msgspec.msgpack.encode(
            ("tacit secure sum", self.run, self.plan, self.exchange, round_no, client, self.size, self.bits)
        )

    @property
    def envelope_size(self) -> int:
        """Return the bytes of one client's envelope: a sealed seed for each helper, and the signature."""
        return sum(SEED + sealed_size(key) for key in self.helpers) + SIGNATURE

    @property
    def share_size(self) -> int:
        """Return the bytes of one share of numbers."""
        return self.size * self.bits // 8
