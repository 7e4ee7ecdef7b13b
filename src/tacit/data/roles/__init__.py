"""Roles of a table's columns: guessed with reasons, or given by the plan."""
