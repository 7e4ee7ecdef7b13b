"""Ledger of a run: each release is an entry, and entries compose into totals per bit, update and
run.
"""

from tacit.privacy.ledger.account import (
    Account,
    Charge,
    add_superseded,
    build_release,
    charge,
    compute_totals,
    fold_releases,
    is_subsampled,
    list_claims,
)
from tacit.privacy.ledger.disclosure import build_releases
from tacit.privacy.statement.prose import write_statement
from tacit.privacy.statement.prose_rows import describe_disclosure

__all__ = [
    "Account",
    "Charge",
    "add_superseded",
    "build_release",
    "build_releases",
    "charge",
    "compute_totals",
    "describe_disclosure",
    "fold_releases",
    "is_subsampled",
    "list_claims",
    "write_statement",
]
