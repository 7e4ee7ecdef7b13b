"""Every sentence about privacy, generated from claims and ledgers."""
