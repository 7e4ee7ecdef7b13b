"""The result of a negotiation between sites, and the private file that a site keeps it in."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tacit.errors import RunError
from tacit.files import replace_file

SECRET_BYTES = 32


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    sites: tuple[str, ...]
    secret: str
    limits: tuple[float, float] | None
    confirmation: str


@dataclass(frozen=True, kw_only=True)
class AgreedSecret:
    """What the sites of a run agreed on: a secret and, if the plan left it open, a range.

    `confirmation` is a MAC, under the secret, of every message and the range. Sites compared it, so
    all hold the same; it shows nothing to a party without the secret.
    """

    sites: tuple[str, ...]
    secret: bytes = field(repr=False)
    limits: tuple[float, float] | None = field(default=None, repr=False)
    confirmation: str

    def save(self, path: Path) -> None:
        """Write the result to a file that only its owner can read."""
        stored = _Stored(
            sites=self.sites,
            secret=self.secret.hex(),
            limits=self.limits,
            confirmation=self.confirmation,
        )
        replace_file(path, msgspec.json.encode(stored))


def load_agreed_secret(path: Path) -> AgreedSecret | None:
    """Read a result; None if there is none. Raise RunError if the file is damaged."""
    if not path.exists():
        return None
    try:
        stored = msgspec.convert(json.loads(path.read_bytes()), _Stored)
        secret = bytes.fromhex(stored.secret)
        if len(secret) != SECRET_BYTES:
            raise ValueError("the secret has another length")
    except (ValueError, msgspec.MsgspecError):
        raise RunError(f"{path}: is damaged; start the plan as a new run") from None
    return AgreedSecret(
        sites=stored.sites,
        secret=secret,
        limits=stored.limits,
        confirmation=stored.confirmation,
    )
