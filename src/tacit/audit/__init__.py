"""What an attacker gets from exactly what that attacker sees; lower bounds, never proofs."""
