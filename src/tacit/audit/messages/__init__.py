"""Attacks on one client's message of one round, made by the plan's own features, training, clip and
codec.
"""
