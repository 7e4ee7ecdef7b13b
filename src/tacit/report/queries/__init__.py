"""Answers to the queries of a run, for terminal and page."""
