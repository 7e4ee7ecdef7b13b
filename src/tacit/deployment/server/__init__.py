"""The server's side of a deployed run."""
