"""Before round one, parties agree on a range, levels and a secret without showing each other their own ranges."""

from tacit.negotiate.addresses import Address, parse_addresses
from tacit.negotiate.agreed import Negotiated, load, refuse_existing, save
from tacit.negotiate.circle import Place
from tacit.negotiate.party import DEADLINE_SECONDS, negotiate
from tacit.negotiate.simulate import simulate
from tacit.negotiate.terms import Terms

__all__ = [
    "DEADLINE_SECONDS", "Address", "Negotiated", "Place", "Terms", "load", "negotiate", "parse_addresses", "refuse_existing",
    "save", "simulate",
]  # fmt: skip
