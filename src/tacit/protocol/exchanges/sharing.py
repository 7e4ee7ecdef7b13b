"""A client's numbers as the server receives them under secure aggregation: a share that reveals
nothing alone, and an envelope for helpers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit import secure_aggregation
from tacit.codecs import IntegerCoding, Payload
from tacit.protocol.site import Client


class Shares:
    """Received shares: their sum modulo 2^bits, and each client's envelope, to be forwarded to the
    helpers.
    """

    def __init__(self, terms: secure_aggregation.AggregationTerms) -> None:
        self.sum = secure_aggregation.zeros(terms.size, terms.bits)
        self.envelopes: dict[int, bytes] = {}

    @property
    def weight(self) -> int:
        """The number of clients in the sum."""
        return len(self.envelopes)

    def merge(self, other: Shares) -> None:
        """Add shares received elsewhere."""
        np.add(self.sum, other.sum, out=self.sum)
        self.envelopes |= other.envelopes

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The sum, the names of its clients, and their envelopes, as arrays."""
        envelopes = np.frombuffer(b"".join(self.envelopes.values()), np.uint8)
        names = np.array(list(self.envelopes), np.int64)
        return {"sum": self.sum, "names": names, "envelopes": envelopes}

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add a sum from another process."""
        names = arrays["names"].tolist()
        rows = arrays["envelopes"].reshape(len(names), -1) if names else ()
        np.add(self.sum, arrays["sum"], out=self.sum)
        self.envelopes |= {name: row.tobytes() for name, row in zip(names, rows, strict=True)}


class OwnKeys(NamedTuple):
    """A client's keys in a run: one shared with each helper, and one for salts that it keeps to
    itself.
    """

    shared: tuple[bytes, ...]
    salt: bytes


class SecretSharing:
    """Splits the messages of one exchange, for `dim` parameters, into shares of integers.

    The digest of the run is in the addresses of keys, so that no two runs share one. Keys are
    sealed when a client first responds.
    """

    def __init__(
        self, terms: secure_aggregation.AggregationTerms, integers: IntegerCoding, dim: int
    ) -> None:
        self.terms, self.integers, self.dim = terms, integers, dim
        self._seals = [secure_aggregation.build_sealer(public) for public in terms.helpers]
        self._keys: dict[int, OwnKeys] = {}
        self._sealed: dict[int, bytes] = {}

    @property
    def payload_size(self) -> int:
        """Bytes of a client's payload: its share, then its envelope."""
        return self.terms.share_size + self.terms.envelope_size

    @property
    def noise(self) -> secure_aggregation.Noise | None:
        """Draws the noise that each helper adds; None if clients add it."""
        draw = self.integers.noise
        return None if draw is None else lambda own: draw(self.dim, own)

    def is_possible(self, numbers: NDArray[np.int64], clients: int) -> bool:
        """Whether that number of honest clients and helpers can have made a sum. Numbers beyond the
        bound mean that a part or a share is wrong: masks that do not cancel leave random numbers.
        """
        largest = self.integers.bound
        return largest is None or max(int(numbers.max()), -int(numbers.min())) <= largest(
            self.dim, clients
        )

    def share(self, client: Client, message: Payload, round_no: int) -> Payload:
        """The server's share of a client's message; the same each time, since keys have an address."""
        numbers, own = self.integers.read(message, self.dim), self._own_keys(client)
        now = self._derive_secrets(
            own, round_no, secure_aggregation.derive_salt(self.terms, own.salt, round_no, numbers)
        )
        return secure_aggregation.subtract_masks(numbers, [one.seed for one in now]).view(np.uint8)

    def payload(self, client: Client, message: Payload, round_no: int) -> Payload:
        """What a client sends instead of its message: a share, and an envelope for the helpers."""
        own = self._own_keys(client)
        numbers, cut = self.integers.read(message, self.dim), self.terms.share_size
        salt = secure_aggregation.derive_salt(self.terms, own.salt, round_no, numbers)
        now = self._derive_secrets(own, round_no, salt)
        payload = np.empty(self.payload_size, np.uint8)
        secure_aggregation.subtract_masks(
            numbers, [one.seed for one in now], out=payload[:cut].view(numbers.dtype)
        )
        payload[cut:] = np.frombuffer(
            self._seal_keys(client, own) + salt + b"".join(one.token for one in now), np.uint8
        )
        return payload

    def _derive_secrets(
        self, own: OwnKeys, round_no: int, salt: bytes
    ) -> list[secure_aggregation.RoundSecrets]:
        return [
            secure_aggregation.derive_round_secrets(self.terms, key, round_no, salt)
            for key in own.shared
        ]

    def _own_keys(self, client: Client) -> OwnKeys:
        """A client's keys in this run."""
        name = client.slot.name
        if name not in self._keys:
            own = client.slot.own.private(f"{self.terms.exchange}: shares").at(self.terms.digest)
            shared = tuple(
                own.sealed(number).key for number in range(1, len(self.terms.helpers) + 1)
            )
            self._keys[name] = OwnKeys(shared, own.sealed("salt").key)
        return self._keys[name]

    def _seal_keys(self, client: Client, own: OwnKeys) -> bytes:
        """A client's keys, sealed for the helpers."""
        name = client.slot.name
        if name not in self._sealed:
            site = client.site.signing_key(client.slot)
            self._sealed[name] = secure_aggregation.seal_keys(
                self.terms.context(name), own.shared, self._seals, site
            )
        return self._sealed[name]

    def add(self, total: Shares, sender: int, payload: Payload) -> None:
        """Add a client's share to the server's sum and keep its envelope; the payload size was
        checked before.
        """
        cut = self.terms.share_size
        np.add(total.sum, payload[:cut].view(total.sum.dtype), out=total.sum)
        total.envelopes[sender] = payload[cut:].tobytes()
