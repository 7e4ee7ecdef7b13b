"""Who may open the pages: addresses, one-time links, passwords, sessions and rate limits."""
