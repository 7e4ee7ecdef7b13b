"""A callback that passes a run's figures to a tracker, while it runs or from its record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from tacit.errors import RunError
from tacit.protocol.observer import Observer, ObserverGroup
from tacit.runs import record, run_folder
from tacit.runs.record import RUN, Entry, Resumed, Started
from tacit.tracking.entry_callback import EntryCallback, warn_caller
from tacit.tracking.figures import FigureBatch, FigureReader
from tacit.tracking.target import TrackerTarget, parse_target
from tacit.tracking.tracker import RunLabel, Tracker, build_tracker


class RunTracker:
    """A callback for `on_entry` that passes the figures of one run to a tracker.

    When a run is resumed, the tracker begins again with the entries that are still valid.
    """

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._reader, self._arms = FigureReader(), {RUN}
        self._has_begun = False

    def __call__(self, entry: Entry, folder: Path) -> None:
        """Pass the figures of an entry on."""
        if not self._has_begun or isinstance(entry, Resumed):
            self._begin(list(_list_valid(folder, entry)), folder)
            return
        if isinstance(entry, Started):  # a resumed run started over
            self._begin([entry], folder)
            return
        batch = self._read(entry)
        if batch != FigureBatch():
            self._tracker.write(batch)

    def add_record(self, folder: Path) -> int:
        """Pass the figures of a whole record on; return their number."""
        return self._begin(list(run_folder.entries(folder)), folder)

    def close(self) -> None:
        """Close the tracker."""
        if self._has_begun:
            self._tracker.close(is_finished=not self._arms)

    def _begin(self, entries: Sequence[Entry], folder: Path) -> int:
        """Begin a run with its entries so far; return the number of their figures."""
        self._reader, self._arms = FigureReader(), {RUN}
        started = next((one for one in entries if isinstance(one, Started)), None)
        if started is None:
            return 0  # nothing is known of the run before its first entry
        past = FigureBatch()
        for entry in entries:
            past.add(self._read(entry))
        self._tracker.begin(_label(folder, started), past)
        self._has_begun = True
        return len(past.figures)

    def _read(self, entry: Entry) -> FigureBatch:
        if isinstance(entry, Started):
            self._arms = {RUN, *entry.plan.get("baselines", ())}
        batch = self._reader.read(entry)
        self._arms -= set(batch.finished)
        return batch


def _list_valid(folder: Path, last: Entry) -> Iterator[Entry]:
    """Valid entries of a record that is being written, up to its last one, which may not be on disk
    yet.
    """
    path = folder / run_folder.RECORD
    lines = list(record.read_lines(path)) if path.exists() else []
    if not lines or lines[-1][1] != last:
        lines.append((path.stat().st_size if path.exists() else 0, last))
    yield from record.fold(lines)


def _label(folder: Path, started: Started) -> RunLabel:
    """Identify a run by the public key that signs its record; an old record without one by its
    first entry.
    """
    known = started.key or json.dumps(asdict(started), sort_keys=True)
    identity = hashlib.sha256(f"tacit run {known}".encode()).hexdigest()[:32]
    return RunLabel(name=folder.resolve().name, identity=identity)


@contextmanager
def track(
    targets: Iterable[str], observer: Observer, report: Callable[[str], None] = warn_caller
) -> Iterator[Observer]:
    """Yield an observer that also passes a run's figures to trackers, such as `tensorboard:DIR`.

    Raises PlanError, before anything runs, if a tracker is unknown or cannot write. Later failures
    are reported, and the run continues without that tracker.
    """
    found = [parse_target(one) for one in dict.fromkeys(targets)]
    with ExitStack() as stack:
        members = [observer]
        for target in found:
            tracker = RunTracker(build_tracker(target))
            stack.callback(_close, tracker, target, report)
            members.append(EntryCallback(tracker, f"tracker {target}", report))
        yield ObserverGroup(*members) if found else observer


def _close(tracker: RunTracker, target: TrackerTarget, report: Callable[[str], None]) -> None:
    try:
        tracker.close()
    except Exception as error:
        report(f"tracker {target} could not be closed: {type(error).__name__}: {error}")


def export_metrics(folder: Path, target: TrackerTarget) -> int:
    """Write the figures of a run's record for another program; return their number."""
    tracker = RunTracker(build_tracker(target))
    try:
        count = tracker.add_record(folder)
        tracker.close()
    except OSError as error:
        raise RunError(f"{target}: cannot be written ({error.strerror})") from None
    return count
