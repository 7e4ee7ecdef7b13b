"""What was spent: each release is an entry, entries fold into totals per bit, update and run, never
a bare number.
"""

from tacit.privacy.ledger.account import (
    Account,
    Payment,
    charge,
    entry,
    every_claim,
    folded,
    on_a_sample,
    totals,
    with_superseded,
)
from tacit.privacy.ledger.disclosure import disclosures
from tacit.privacy.statement.prose import statement
from tacit.privacy.statement.prose_rows import disclosure

__all__ = [
    "Account",
    "Payment",
    "charge",
    "disclosure",
    "disclosures",
    "entry",
    "every_claim",
    "folded",
    "on_a_sample",
    "statement",
    "totals",
    "with_superseded",
]
