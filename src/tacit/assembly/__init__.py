"""Builds both sides of a run from a plan: the agreement, the clients of a site, the server."""
