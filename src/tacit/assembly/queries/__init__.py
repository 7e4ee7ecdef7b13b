"""Runs that answer queries: the learner, and the answers in its sums."""
