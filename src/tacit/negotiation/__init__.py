"""Before round one, parties agree on a range, levels and a secret without revealing their own
ranges.
"""

from tacit.negotiation.addresses import Address, parse_addresses
from tacit.negotiation.circle import PartyPlace
from tacit.negotiation.party import DEADLINE_SECONDS, negotiate
from tacit.negotiation.result import Negotiated, load, refuse_existing, save
from tacit.negotiation.simulate import simulate
from tacit.negotiation.terms import NegotiationTerms

__all__ = [
     "DEADLINE_SECONDS",
     "Address",
     "Negotiated",
     "NegotiationTerms",
     "PartyPlace",
     "load",
     "negotiate",
     "parse_addresses",
     "refuse_existing",
     "save",
     "simulate",
]  # fmt: skip
