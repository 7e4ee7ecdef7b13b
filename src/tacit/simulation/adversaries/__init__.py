"""Clients that are corrupted on purpose, canaries, and servers with clean rows."""
