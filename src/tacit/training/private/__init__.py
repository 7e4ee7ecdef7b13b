"""Partially local models: parameters that stay with each client, word tables, local steps, and
storage between rounds.
"""
