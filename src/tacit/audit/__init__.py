"""Attacks that use exactly what an attacker sees: lower bounds on leakage, never proofs of privacy."""
