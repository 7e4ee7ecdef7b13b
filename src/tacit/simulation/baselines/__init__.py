"""Baselines that a run is compared with."""
