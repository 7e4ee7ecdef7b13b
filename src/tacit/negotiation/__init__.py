"""Before round one, parties agree on a range, levels and a secret without showing each other their
own ranges.
"""

from tacit.negotiation.addresses import Address, parse_addresses
from tacit.negotiation.agreed import Negotiated, load, refuse_existing, save
from tacit.negotiation.circle import Place
from tacit.negotiation.party import DEADLINE_SECONDS, negotiate
from tacit.negotiation.simulate import simulate
from tacit.negotiation.terms import Terms

__all__ = [
     "DEADLINE_SECONDS", "Address", "Negotiated", "Place", "Terms", "load", "negotiate",
    "parse_addresses", "refuse_existing", "save", "simulate",
]  # fmt: skip
