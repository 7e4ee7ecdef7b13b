"""The tables of a plan, one file each."""
