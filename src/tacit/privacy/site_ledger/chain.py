"""Entries in a chain: each carries a SHA-256 over the one before and over itself, so none can be
changed or left out unseen.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

START = bytes(32)
"""What stands before the first entry."""


class Receipt(NamedTuple):
    """How far a ledger had come: how many entries, and the hash of the last. Kept elsewhere, it
    shows that one was put back.
    """

    counter: int
    head: bytes


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One entry of a ledger: opened, told, reserved, stored, disclosed, forgotten, loss accepted.

    `body` holds its facts as plain JSON values.
    """

    number: int
    kind: str
    body: dict[str, Any]
    hash: bytes


def encode_canonical(body: dict[str, Any] | list[Any]) -> bytes:
    """Return the one way in which JSON values are written here."""
    return json.dumps(
        body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def hash_entry(before: bytes, content: bytes) -> bytes:
    """Return the hash of an entry that follows another."""
    return hashlib.sha256(before + content).digest()


def parse_entry(number: int, content: bytes, digest: bytes) -> LedgerEntry:
    """Return an entry as it was read; raise ValueError if it is none."""
    body = json.loads(content)
    if (
        not isinstance(body, dict)
        or body.get("number") != number
        or not isinstance(body.get("kind"), str)
    ):
        raise ValueError("it is no entry of this number")
    return LedgerEntry(number=number, kind=body["kind"], body=body, hash=digest)
