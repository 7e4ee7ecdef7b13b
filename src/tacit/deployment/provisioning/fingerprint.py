"""Fingerprints of keys, whole and grouped, so that two people can compare them over the phone."""

from __future__ import annotations

import hashlib
import re

import msgspec

from tacit.errors import PlanError

_GROUP = 4
_DIGITS = re.compile(r"[0-9a-f]{64}")


def fingerprint_server(signing_key: bytes, authority: bytes) -> str:
    """Fingerprint of a server: its signing key and its authority's certificate (DER, or empty
    without TLS).
    """
    return _fingerprint("server", signing_key, authority)


def fingerprint_site(name: str, node_key: str, signing_key: str) -> str:
    """Fingerprint of a site: its name, the key it joins with (one OpenSSH line) and its signing key
    (hexadecimal).
    """
    return _fingerprint("site", name.encode(), node_key.encode(), bytes.fromhex(signing_key))


def fingerprint_person(name: str, certificate: bytes) -> str:
    """Fingerprint of a person: the name and the certificate (DER)."""
    return _fingerprint("person", name.encode(), certificate)


def _fingerprint(kind: str, *parts: bytes) -> str:
    return hashlib.sha256(msgspec.msgpack.encode(("tacit fingerprint", kind, *parts))).hexdigest()


def format_fingerprint(digits: str) -> str:
    """The digits in groups of four, to be read aloud.

    >>> format_fingerprint("0123456789ab")
    '0123 4567 89ab'
    """
    return " ".join(digits[start : start + _GROUP] for start in range(0, len(digits), _GROUP))


def parse_fingerprint(text: str) -> str:
    """The 64 digits of a fingerprint as a person writes it; raise PlanError if it is not whole.

    >>> parse_fingerprint("AB-cd " * 16)[:8]
    'abcdabcd'
    """
    digits = re.sub(r"[\s:-]", "", text).lower()
    if not _DIGITS.fullmatch(digits):
        raise PlanError(
            f"a fingerprint has 64 hexadecimal digits, got {len(digits)} characters; give all of it,"
            " with or without blanks"
        )
    return digits
