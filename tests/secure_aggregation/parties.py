"""Clients, leader and helpers of a small secure sum, and ways to hand helpers something they must not answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.secure_aggregation import (
    AggregationTerms,
    Helper,
    HelperKey,
    build_sealer,
    derive_round_secrets,
    derive_salt,
    seal_keys,
    subtract_masks,
    zeros,
)
from tests import seeds

ROOT = seeds.draws(11)


def site_key(client: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(ROOT.sealed("site", client).key)


def known(client: int) -> bytes | None:
    return site_key(client).public_key().public_bytes_raw() if 0 <= client < 1000 else None


def helper_keys(count: int, post_quantum: bool = False) -> list[HelperKey]:
    return [HelperKey.draw(ROOT.at("helper", number), post_quantum) for number in range(count)]


def terms_for(
    size: int = 50, bits: int = 32, helpers: int = 1, least: int = 3, post_quantum: bool = False
) -> AggregationTerms:
    keys = tuple(key.public() for key in helper_keys(helpers, post_quantum))
    return AggregationTerms(
        run="run-1",
        digest="abc",
        exchange="train",
        size=size,
        bits=bits,
        helpers=keys,
        min_clients=least,
        rounds=9,
    )


@dataclass
class Leader:
    """What the leader holds of one round: the sum of shares, and envelopes by client."""

    terms: AggregationTerms
    round_no: int = 1
    envelopes: dict[int, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sum = zeros(self.terms.size, self.terms.bits)

    def take(self, client: int, numbers: np.ndarray) -> None:
        """Take one client's answer."""
        share, self.envelopes[client] = answered(self.terms, self.round_no, client, numbers)
        self.sum += share

    def asks(self, helper: Helper, names: list[int] | None = None) -> np.ndarray:
        names = sorted(self.envelopes) if names is None else names
        lines = np.frombuffer(b"".join(self.envelopes[name] for name in names), np.uint8)
        return helper.respond(
            self.round_no, names, lines.reshape(len(names), len(lines) // max(1, len(names)))
        )


def answered(
    terms: AggregationTerms,
    round_no: int,
    client: int,
    numbers: np.ndarray,
    site: Ed25519PrivateKey | None = None,
) -> tuple[np.ndarray, bytes]:
    """Return a client's share and envelope."""
    keys = keys_of(client, len(terms.helpers))
    sealed = seal_keys(
        terms.context(client),
        keys,
        [build_sealer(public) for public in terms.helpers],
        site or site_key(client),
    )
    salt = derive_salt(terms, ROOT.sealed("salt", client).key, round_no, numbers)
    now = [derive_round_secrets(terms, key, round_no, salt) for key in keys]
    return subtract_masks(numbers, [one.seed for one in now]), sealed + salt + b"".join(
        one.token for one in now
    )


def keys_of(client: int, helpers: int = 1) -> list[bytes]:
    return [ROOT.sealed("key", client, n).key for n in range(helpers)]


def numbers_of(client: int, terms: AggregationTerms) -> np.ndarray:
    kind = np.dtype(f"<i{terms.bits // 8}")
    return (
        ROOT.at("numbers", client)
        .generator()
        .integers(-1000, 1000, terms.size)
        .astype(kind)
        .view(f"<u{kind.itemsize}")
    )


def helper(
    terms: AggregationTerms,
    number: int = 1,
    noise=None,
    path=None,
    post_quantum: bool = False,
    simulated: bool = False,
) -> Helper:
    key = helper_keys(len(terms.helpers), post_quantum)[number - 1]
    return Helper(
        terms, number, key, known, ROOT.at("own", number), noise, path, simulated=simulated
    )


def leader_with(terms: AggregationTerms, clients: range = range(5), round_no: int = 1) -> Leader:
    leader = Leader(terms, round_no)
    for client in clients:
        leader.take(client, numbers_of(client, terms))
    return leader


def other(terms: AggregationTerms, **changes: object) -> AggregationTerms:
    return replace(terms, **changes)
