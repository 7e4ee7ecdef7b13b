"""A sum of which nobody sees a part: clients split their numbers between the server and its
helpers, who add up what they hold.

The server, as leader, has each client's numbers less random ones; helpers have the seeds of those.
Each alone is noise. What is cryptography here comes from `cryptography`: AES-256 in counter mode
for the random numbers, HPKE (RFC 9180) to seal keys to helpers, Ed25519 for the signatures of
sites. What follows from a key in a round is its HMAC-SHA256.
"""

from tacit.secure_aggregation.envelope import OfRound, of_round, salt_for, sealed_keys
from tacit.secure_aggregation.helper import Helper, Noise
from tacit.secure_aggregation.seal import HelperKey, is_post_quantum, sealer
from tacit.secure_aggregation.shares import hidden, lifted, zeros
from tacit.secure_aggregation.terms import TAG, Terms

__all__ = [
     "TAG", "Helper", "HelperKey", "Noise", "OfRound", "Terms", "hidden", "is_post_quantum",
    "lifted", "of_round", "salt_for", "sealed_keys", "sealer", "zeros",
]  # fmt: skip
