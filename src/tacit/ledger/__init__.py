"""What was spent: each release is an entry, entries fold into totals per bit, update and run, never a bare number."""

from tacit.ledger.account import entry, totals
from tacit.ledger.disclosure import disclosure, disclosures
from tacit.ledger.policy import Policy, load_policy, violations
from tacit.ledger.statement import statement

__all__ = ["Policy", "disclosure", "disclosures", "entry", "load_policy", "statement", "totals", "violations"]
