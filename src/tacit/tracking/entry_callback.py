"""A callback that receives the entries of a record as they are written."""

from __future__ import annotations

import copy
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from tacit.protocol.observer import Silence
from tacit.runs.record import Entry

OnEntry = Callable[[Entry, Path], None]
"""Called with each entry of a run's record, and the run's folder."""


def warn_caller(text: str) -> None:
    """Warn the caller from Python."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)


class EntryCallback(Silence):
    """An observer that calls a function with each entry that is written.

    The function gets a copy, so it cannot change the run. If it raises an Exception, `report` says
    so once, the function is not called again, and the run continues: its privacy budget is spent
    already. KeyboardInterrupt stops the run, as Ctrl-C does; it can be resumed.
    """

    def __init__(
        self, call: OnEntry, name: str = "on_entry", report: Callable[[str], None] = warn_caller
    ) -> None:
        self._call, self._name, self._report = call, name, report
        self._folder: Path | None = None
        self.error: Exception | None = None

    def opened(self, folder: Path) -> None:
        """Note the run's folder."""
        self._folder = folder

    def entry(self, entry: Entry) -> None:
        """Call the function, unless it has failed before."""
        if self.error is not None or self._folder is None:
            return
        try:
            self._call(copy.deepcopy(entry), self._folder)
        except Exception as error:
            self.error = error
            self._report(self._describe(entry, error))

    def _describe(self, entry: Entry, error: Exception) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        return (
            f"{self._name} failed on an entry of kind {type(entry).__name__}: {type(error).__name__}:"
            f" {error}{place}; the run continues without it, and its record has every entry"
        )
