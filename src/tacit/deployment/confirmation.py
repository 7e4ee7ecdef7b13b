"""The digest of a run, and the signatures by which its sites confirm to each other that they
received the same plan and terms.

The server carries every message, so a site cannot rely on it for what others received. Each site
computes one digest from the plan and the terms it holds, and signs it with the key that its peers
learned out of band. The server forwards the signatures. Seals, tokens, noise addresses and helpers'
parts are bound to the digest too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.deployment.bodies import Offer, Terms
from tacit.errors import WireError
from tacit.plan import Plan


def run_digest(run: str, offer: Offer, terms: bytes) -> str:
    """SHA-256, as hex, of a run's name, its offer (the plan's texts, and where noise comes from) and
    its terms, byte for byte.

    The terms contain a nonce of every site, so two runs never have the same digest, whatever names
    the server gives them.
    """
    plan = (offer.plan, offer.settings) if offer.settings else offer.plan
    content = msgspec.msgpack.encode(("tacit run", run, plan, offer.simulated_noise, terms))
    return hashlib.sha256(content).hexdigest()


def needs_confirmation(plan: Plan) -> bool:
    """Whether a site sends nothing before the other sites have confirmed plan and terms."""
    return plan.secure_aggregation is not None or plan.negotiation is not None


def sign_digest(key: Ed25519PrivateKey, site: str, digest: str) -> bytes:
    """Sign the digest of a run that a site takes part in."""
    return key.sign(_signed(site, digest))


def check_confirmations(
    terms: Terms, digest: str, confirmations: Mapping[str, bytes], peers: Mapping[str, bytes]
) -> None:
    """Raise WireError unless every member that is a known peer has signed the digest."""
    for site in (member.site for member in terms.members if member.site in peers):
        if site not in confirmations:
            raise WireError(
                f"terms refused: site {site!r} has not confirmed this run's plan and terms; its"
                " signature is missing"
            )
        try:
            Ed25519PublicKey.from_public_bytes(peers[site]).verify(
                confirmations[site], _signed(site, digest)
            )
        except (InvalidSignature, ValueError):
            raise WireError(
                f"terms refused: site {site!r} did not confirm the plan and terms that this site"
                " was sent; the server sent it others, or the key under [peers] in site.toml is"
                " not its signing key"
            ) from None


def _signed(site: str, digest: str) -> bytes:
    return msgspec.msgpack.encode(("tacit terms", site, digest))
