"""Every sentence about privacy, generated from claims and ledgers."""

import tacit.privacy.ledger  # noqa: F401 (it re-exports a sentence from here, so it must load first)
