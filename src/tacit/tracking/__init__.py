"""Trackers: observers that pass the entries of a run's record to a function or to another program."""

from tacit.tracking.entry_callback import EntryCallback, OnEntry

__all__ = ["EntryCallback", "OnEntry"]
