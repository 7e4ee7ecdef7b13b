"""A data owner's control over a site: what its policy allows, and a ledger that is charged before
anything is sent.
"""

from tacit.privacy.policy.plan_requirements import derive_requirements
from tacit.privacy.policy.policy import (
    Limits,
    Measures,
    Policy,
    SharePolicy,
    load_policy,
    parse_policy,
)
from tacit.privacy.policy.requirements import (
    Requirements,
    find_measures_too_costly,
    find_refusals,
    refuse_rows,
)
from tacit.privacy.policy.unit import PrivacyUnit, find_unit_refusals
from tacit.privacy.site_ledger.chain import LedgerEntry, Receipt
from tacit.privacy.site_ledger.releases import RowToRelease
from tacit.privacy.site_ledger.site_ledger import SiteLedger
from tacit.privacy.site_ledger.spending import ClientSpending

__all__ = [
    "ClientSpending",
    "LedgerEntry",
    "Limits",
    "Measures",
    "Policy",
    "PrivacyUnit",
    "Receipt",
    "Requirements",
    "RowToRelease",
    "SharePolicy",
    "SiteLedger",
    "derive_requirements",
    "find_measures_too_costly",
    "find_refusals",
    "find_unit_refusals",
    "load_policy",
    "parse_policy",
    "refuse_rows",
]
