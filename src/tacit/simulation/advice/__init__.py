"""Advice before a run: clipping, enough people, what a first message holds."""
