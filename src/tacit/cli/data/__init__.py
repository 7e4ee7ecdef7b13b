"""`tacit data`: named data sets."""
