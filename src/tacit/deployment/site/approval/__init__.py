"""The owner approves each run: a queue of requests, and decisions in the site's ledger."""
