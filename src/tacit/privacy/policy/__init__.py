"""A data owner's control over a site: what its policy allows, and a ledger that is charged before
anything leaves.
"""

from tacit.privacy.policy.asked import Asked, find_measures_too_costly, refusals, violations
from tacit.privacy.policy.facts import facts_of
from tacit.privacy.policy.policy import (
    Limits,
    Measures,
    Policy,
    SharePolicy,
    load_policy,
    parse_policy,
)
from tacit.privacy.policy.unit import PrivacyUnit, unit_refusals
from tacit.privacy.site_ledger.book import Book, Spent
from tacit.privacy.site_ledger.chain import Entry, Receipt
from tacit.privacy.site_ledger.releases import Leaving

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
