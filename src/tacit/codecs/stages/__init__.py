"""Clipping, rotation and rounding before a codec."""
