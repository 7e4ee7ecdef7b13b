"""Hash chain of ledger entries: each entry carries a SHA-256 of the entry before and of itself, so
changes and gaps are detected.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

START = bytes(32)
"""Hash before the first entry."""


class Receipt(NamedTuple):
    """Number of entries of a ledger and hash of the last one. Kept elsewhere, it reveals that an
    old copy was restored.
    """

    counter: int
    head: bytes


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One entry of a ledger. Its kind is `opened`, `told` (facts sent in the clear), `reserved`,
    `stored`, `disclosed`, `forgotten`, `erased`, `approved`, `refused` (decisions of the owner about a
    run), `restored` or `loss accepted`.

    `body` holds its facts as plain JSON values.
    """

    number: int
    kind: str
    body: dict[str, Any]
    hash: bytes


def encode_canonical(body: dict[str, Any] | list[Any]) -> bytes:
    """Encode JSON values canonically: sorted keys, no spaces, UTF-8."""
    return json.dumps(
        body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def hash_entry(before: bytes, content: bytes) -> bytes:
    """Hash an entry together with the hash of the one before."""
    return hashlib.sha256(before + content).digest()


def parse_entry(number: int, content: bytes, digest: bytes) -> LedgerEntry:
    """Parse an entry; raise ValueError if its content is not an entry of this number."""
    body = json.loads(content)
    if (
        not isinstance(body, dict)
        or body.get("number") != number
        or not isinstance(body.get("kind"), str)
    ):
        raise ValueError("its content is not an entry of this number")
    return LedgerEntry(number=number, kind=body["kind"], body=body, hash=digest)
