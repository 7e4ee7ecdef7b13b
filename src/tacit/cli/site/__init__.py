"""`tacit site`: the machine of a data owner."""
