"""Commands that set up sites and servers: invitations, admission, keys and certificates."""
