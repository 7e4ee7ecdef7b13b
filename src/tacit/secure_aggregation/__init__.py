"""Secure aggregation: clients split their numbers into shares for the server and its helpers, who
sum what they hold.

The server, as leader, receives each client's numbers minus masks; helpers receive the seeds of the
masks. Each share alone looks random. All primitives come from `cryptography`: AES-256 in counter
mode for the masks, HPKE (RFC 9180) to seal keys to helpers, Ed25519 for the signatures of sites,
HMAC-SHA256 to derive the secrets of a round.
"""

from tacit.secure_aggregation.envelope import (
    RoundSecrets,
    derive_round_secrets,
    derive_salt,
    seal_keys,
)
from tacit.secure_aggregation.helper import Helper, Noise
from tacit.secure_aggregation.seal import HelperKey, build_sealer, is_post_quantum
from tacit.secure_aggregation.shares import subtract_masks, to_signed, zeros
from tacit.secure_aggregation.terms import TAG, AggregationTerms

__all__ = [
    "TAG",
    "AggregationTerms",
    "Helper",
    "HelperKey",
    "Noise",
    "RoundSecrets",
    "build_sealer",
    "derive_round_secrets",
    "derive_salt",
    "is_post_quantum",
    "seal_keys",
    "subtract_masks",
    "to_signed",
    "zeros",
]  # fmt: skip
