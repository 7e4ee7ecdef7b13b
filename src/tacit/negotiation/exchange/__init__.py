"""Sites of a deployed run agree on a secret and a range before round one, over the server, which
forwards messages it cannot read.
"""

from tacit.negotiation.exchange.agreed_secret import AgreedSecret, load_agreed_secret
from tacit.negotiation.exchange.grid import RangeGrid
from tacit.negotiation.exchange.party import Ends, SiteParty
from tacit.negotiation.exchange.relay import negotiate_together, relay_steps
from tacit.negotiation.exchange.terms import FEWEST_SITES, ExchangeTerms, Step, list_steps

__all__ = [
    "FEWEST_SITES",
    "AgreedSecret",
    "Ends",
    "ExchangeTerms",
    "RangeGrid",
    "SiteParty",
    "Step",
    "list_steps",
    "load_agreed_secret",
    "negotiate_together",
    "relay_steps",
]
