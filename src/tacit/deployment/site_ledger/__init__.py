"""Guarding a site's ledger against loss and rollback."""
