"""Small plans, terms and peers for tests of the handshake; nothing here reads a row."""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.deployment.bodies import Member, OfferResponse, StatisticsBody, Terms
from tacit.plan import Plan, parse

SITES = ("a", "b", "c")
SEEN = StatisticsBody(classes=["no", "yes"], ranges={}, categories={})
PLAN: dict[str, Any] = {
    "data": {
        "source": "visits.csv",
        "columns": {"client": "patient", "numeric": ["age"], "label": "outcome"},
    },
    "features": {"ranges": {"age": [0, 120]}},
    "codec": {"name": "dp_sum", "epsilon": 2.0, "delta": 1e-5, "clip": 1.0},
    "server": {"rounds": 2},
}


def plan_of(**tables: Any) -> Plan:
    return parse({**PLAN, **tables})


def nonce(site: str) -> bytes:
    return site.encode() * 32


def signer(site: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(site.encode() * 32)


def peers(*sites: str) -> dict[str, bytes]:
    return {site: signer(site).public_key().public_bytes_raw() for site in sites or SITES}


def helper_key(site: str) -> bytes:
    return site.upper().encode() * 32


def members(clients: int = 10, sites: tuple[str, ...] = SITES) -> list[Member]:
    return [
        Member(
            site=site,
            first=place * clients,
            clients=clients,
            rows=100,
            test_rows=20,
            nonce=nonce(site),
        )
        for place, site in enumerate(sites)
    ]


def terms_of(**changes: Any) -> Terms:
    given: dict[str, Any] = {
        "run": "job-1",
        "public": b"p" * 32,
        "largest_weight": 1,
        "seen": SEEN,
        "members": members(),
    }
    return Terms(**{**given, **changes})


def opened_by(site: str, **changes: Any) -> OfferResponse:
    given: dict[str, Any] = {
        "clients": 10, "rows": 100, "test_rows": 20, "largest_weight": 7, "seen": SEEN, "nonce": nonce(site),
        "helper_key": helper_key(site), "measures": "noisy",
    }  # fmt: skip
    return OfferResponse(**{**given, **changes})
