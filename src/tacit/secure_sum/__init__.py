"""A sum of which nobody sees a part: clients split their numbers between the server and its helpers, who add up what they hold.

The server, as leader, has each client's numbers less random ones; helpers have the seeds of those. Each alone is noise. What is
cryptography here comes from `cryptography`: AES-256 in counter mode for the random numbers, HPKE (RFC 9180) to seal seeds to
helpers, Ed25519 for the signatures of sites.
"""

from tacit.secure_sum.envelope import make_envelope
from tacit.secure_sum.helper import Helper, Noise
from tacit.secure_sum.seal import HelperKey, sealer
from tacit.secure_sum.shares import hidden, lifted, zeros
from tacit.secure_sum.terms import Terms

__all__ = ["Helper", "HelperKey", "Noise", "Terms", "hidden", "lifted", "make_envelope", "sealer", "zeros"]
