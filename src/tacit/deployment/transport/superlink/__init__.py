"""The SuperLink of a server: its process, its application, and what limits requests to it."""
