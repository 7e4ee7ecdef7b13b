"""Columns that hold personal data, found by shape and name."""
