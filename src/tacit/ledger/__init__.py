"""What was spent: each release is an entry, entries fold into totals per bit, update and run, never a bare number."""

from tacit.ledger.account import Account, Payment, charge, entry, every_claim, folded, on_a_sample, totals, with_superseded
from tacit.ledger.disclosure import disclosures
from tacit.ledger.prose import statement
from tacit.ledger.prose_rows import disclosure

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
