"""The privacy ledger of a site, in SQLite: charged before anything leaves."""
