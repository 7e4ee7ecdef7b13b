"""Log lines of sites and servers: time, level, run and round, one line each, as text or JSON.

A line that quotes a message of another party cannot pass for a line of its own: control characters
are escaped, and every further line of a sentence has the same beginning and is indented.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from tacit.printable import printable

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
SETTING = "TACIT_LOG"
"""Environment variable that selects the form of log lines: `json`, or else text. If it is set, runs
also log their progress (`text` or `json`).
"""
DETAILS = "TACIT_DEBUG"
"""Environment variable that shows lines of level DEBUG, whatever its value."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_MOST = 100


@dataclass(frozen=True)
class LogContext:
    """The run and round that lines are about, and their level; an empty run means none."""

    run: str = ""
    round_no: int = 0
    level: Level = "INFO"


_CONTEXT = ContextVar("log_context", default=LogContext())  # noqa: B039 - immutable


@contextmanager
def log_context(**changes: Any) -> Iterator[None]:
    """Set the run, round or level of all lines that are written inside."""
    token = _CONTEXT.set(replace(_CONTEXT.get(), **changes))
    try:
        yield
    finally:
        _CONTEXT.reset(token)


def select_json(as_json: bool) -> None:
    """Select JSON lines for this process and those that it starts; without `as_json` the
    environment decides.
    """
    if as_json:
        os.environ[SETTING] = "json"


def is_json() -> bool:
    """Whether log lines are JSON objects."""
    return os.environ.get(SETTING) == "json"


def get_utc_time() -> str:
    """The time in UTC with milliseconds, as in 2026-11-16T14:03:22.123Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_to_stderr(line: str) -> None:
    """Write a line to standard error at once."""
    print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class LineLog:
    """A log of one site or server. Called with a sentence, it writes one line, or one for each line
    of the sentence; as JSON always one.
    """

    name: str
    write: Callable[[str], None] = write_to_stderr
    now: Callable[[], str] = get_utc_time

    def __call__(self, sentence: str) -> None:
        """Write a sentence under the current context; one of level DEBUG only if TACIT_DEBUG is set."""
        context = _CONTEXT.get()
        if context.level == "DEBUG" and DETAILS not in os.environ:
            return
        if is_json():
            self.write(format_json(context, self.now(), self.name, sentence))
            return
        head = f"{self.now()} {context.level} {_format_place(context)} {self.name}: "
        first, *more = printable(sentence).splitlines() or [""]
        for line in (first, *(f"    {other.strip()}" for other in more)):
            self.write(head + line)


def format_json(context: LogContext, time: str, name: str, sentence: str) -> str:
    """Format a sentence as one JSON object in one line of ASCII characters."""
    facts = {
        "time": time,
        "level": context.level,
        "name": name,
        "run": context.run[:_MOST] or None,
        "round": context.round_no if context.run else None,
        "message": printable(sentence),
    }
    return json.dumps(facts)


def _format_place(context: LogContext) -> str:
    """Format run and round. A name that is not plain is quoted: a server may choose any."""
    if not context.run:
        return "run=- round=-"
    plain = _PLAIN.fullmatch(context.run)
    return f"run={context.run if plain else ascii(context.run[:_MOST])} round={context.round_no}"
