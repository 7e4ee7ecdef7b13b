"""Randomised votes, heads and counts."""
