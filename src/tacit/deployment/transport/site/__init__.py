"""A site process: the connection to its server and the loop that serves requests."""
