"""Commands that a page starts: child processes, each a `tacit` command that the page shows."""
