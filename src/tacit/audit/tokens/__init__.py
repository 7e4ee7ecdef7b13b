"""Attacks on the tokens of a finished run of the hashcomb codec."""
