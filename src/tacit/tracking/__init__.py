"""Trackers: observers that pass the entries of a run's record to a function or to another program."""

from tacit.tracking.entry_callback import EntryCallback, OnEntry
from tacit.tracking.run_tracker import RunTracker, export_metrics, track
from tacit.tracking.target import TrackerTarget, name_default_place, parse_kind, parse_target

__all__ = [
    "EntryCallback",
    "OnEntry",
    "RunTracker",
    "TrackerTarget",
    "export_metrics",
    "name_default_place",
    "parse_kind",
    "parse_target",
    "track",
]
