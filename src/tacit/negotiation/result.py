"""The result of a negotiation, and the private file that stores it."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tacit.errors import PlanError, RunError
from tacit.negotiation.terms import LIMIT, STEP, NegotiationTerms

SECRET_BYTES = 16
_KIND = "tacit-negotiated-1"
_SIZE_LIMIT = 4096


@dataclass(frozen=True, kw_only=True)
class Negotiated:
    """The quantiser's range and key as all parties of one run agreed on them.

    Guarantees: `transcript_hash` is a MAC, under the secret, of the run, every public parameter and
    the range. Parties compared it, so all hold the same; it changes with any field and shows none
    of them to those without the secret.
    """

    run: str
    parties: int
    levels: int
    enlargement: float
    x_min: float
    x_max: float
    secret: bytes
    transcript_hash: str

    def __repr__(self) -> str:
        return (
            f"Negotiated(run={self.run!r}, parties={self.parties},"
            f" transcript_hash={self.transcript_hash!r})"
        )

    @property
    def margin(self) -> float:
        """Enlargement of the range on either side: its largest absolute value over `enlargement`,
        at least 2^-20.
        """
        return max(max(-self.x_min, self.x_max) / self.enlargement, STEP)

    @property
    def terms(self) -> NegotiationTerms:
        """The public parameters of the negotiation."""
        return NegotiationTerms(
            run=self.run, parties=self.parties, levels=self.levels, enlargement=self.enlargement
        )


def bind_result(terms: NegotiationTerms, x_min: float, x_max: float, secret: bytes) -> Negotiated:
    """Build the result of a negotiation, bound to its run by the transcript hash."""
    transcript = json.dumps(
        [_KIND, *(digest.hex() for digest in terms.digests().values()), x_min.hex(), x_max.hex()]
    )
    mac = hmac.new(secret, transcript.encode(), hashlib.sha256).hexdigest()
    return Negotiated(**asdict(terms), x_min=x_min, x_max=x_max, secret=secret, transcript_hash=mac)


def save(agreed: Negotiated, path: Path) -> None:
    """Write a new file that only its owner can read. An existing file is never replaced: a run may
    depend on it.
    """
    from tacit.files import replace_file

    refuse_existing(path)
    replace_file(path, to_text(agreed).encode())


def refuse_existing(path: Path) -> None:
    """Raise PlanError if a result cannot be written to `path`."""
    if path.exists() or path.is_symlink():
        raise PlanError(
            f"{path} already exists, and a run may depend on it; choose another name, or remove it"
            " first"
        )
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise PlanError(f"{path}: its folder is missing or not writable; choose another folder")


def to_text(agreed: Negotiated) -> str:
    """Serialise a result, including the secret."""
    return (
        json.dumps({"kind": _KIND, **asdict(agreed), "secret": agreed.secret.hex()}, indent=2)
        + "\n"
    )


def load(path: Path, run: str) -> Negotiated:
    """Read the result for a run; raise RunError unless the file is private, intact and of this run."""
    agreed = from_text(_read(path), str(path))
    if agreed.run != run:
        raise RunError(
            f"{path} was negotiated for run {agreed.run!r}, not for {run!r}; negotiate again"
        )
    return agreed


def _read(path: Path) -> str:
    try:
        # Without following a link, and without waiting if it is a pipe.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _SIZE_LIMIT:
            raise RunError(f"{path} was not written by `tacit negotiate`; negotiate again")
        if stat.S_IMODE(facts.st_mode) & 0o077:
            raise RunError(
                f"{path} holds a secret and other users may read it; negotiate again, and keep the"
                " file private (chmod 600)"
            )
        return file.read().decode("utf-8", "replace")


def from_text(text: str, where: str) -> Negotiated:
    """Parse a result; raise RunError if any value was changed."""
    try:
        found: dict[str, Any] = json.loads(text)
        if not isinstance(found, dict) or set(found) != {
            "kind",
            *(field.name for field in fields(Negotiated)),
        }:
            raise ValueError("not the fields of a result")
        if found["kind"] != _KIND:
            raise ValueError("another kind of file")
        terms = NegotiationTerms(
            **{name: found[name] for name in ("run", "parties", "levels", "enlargement")}
        )
        x_min, x_max, secret = found["x_min"], found["x_max"], bytes.fromhex(found["secret"])
        if not (
            isinstance(x_min, float)
            and isinstance(x_max, float)
            and -LIMIT <= x_min <= x_max <= LIMIT
        ):
            raise ValueError("no range")
        if len(secret) != SECRET_BYTES:
            raise ValueError("no secret")
        agreed = bind_result(terms, x_min, x_max, secret)
        if not hmac.compare_digest(agreed.transcript_hash, str(found["transcript_hash"])):
            raise ValueError("the hash does not fit")
    except (ValueError, TypeError, RecursionError, PlanError):
        raise RunError(
            f"{where} is damaged or was not written by `tacit negotiate`; negotiate again"
        ) from None
    return agreed
