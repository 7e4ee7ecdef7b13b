"""A person's end of the transport: calls to a server, and the messages of a coordinator's run."""
