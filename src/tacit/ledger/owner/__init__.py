"""A data owner's control over a site: what its policy allows, and a ledger that is charged before anything leaves."""

from tacit.ledger.owner.asked import Asked, find_measures_too_costly, refusals, violations
from tacit.ledger.owner.book import Book, Spent
from tacit.ledger.owner.chain import Entry, Receipt
from tacit.ledger.owner.facts import facts_of
from tacit.ledger.owner.policy import Limits, Measures, Policy, SharePolicy, load_policy, parse_policy
from tacit.ledger.owner.releases import Leaving
from tacit.ledger.owner.unit import PrivacyUnit, unit_refusals

__all__ = [
    "Asked",
    "Book",
    "Entry",
    "Leaving",
    "Limits",
    "Measures",
    "Policy",
    "PrivacyUnit",
    "Receipt",
    "SharePolicy",
    "Spent",
    "facts_of",
    "find_measures_too_costly",
    "load_policy",
    "parse_policy",
    "refusals",
    "unit_refusals",
    "violations",
]
