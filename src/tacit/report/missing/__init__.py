"""Responses that were missing: of sites, and over the simulated network of a plan."""
