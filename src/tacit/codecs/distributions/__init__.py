"""Noise samplers and the privacy loss of their outputs."""
