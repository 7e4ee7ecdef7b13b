"""Flower's log and files, kept in the folder of the process that uses Flower.

Nothing goes to the screen or to the home folder.
"""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

from tacit.log_lines import Level, LogContext, format_json, get_utc_time, is_json
from tacit.printable import printable_name

LOG = "flower.log"
_MAX_BYTES = 2_000_000


class _OneLine(logging.Formatter):
    """Formats a record as one line without control characters, because Flower logs what sites send."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The line of a record; the lines of an exception follow it."""
        return printable_name(super().formatMessage(record))


class _JsonLine(logging.Formatter):
    """Formats a record, with its exception if any, as one JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        context = LogContext(level=_get_level(record))
        return format_json(context, get_utc_time(), record.name, super().format(record))


def _get_level(record: logging.LogRecord) -> Level:
    if record.levelno >= logging.ERROR:
        return "ERROR"
    return "WARNING" if record.levelno >= logging.WARNING else "INFO"


def redirect_flower_log(folder: Path) -> None:
    """Send everything that Flower logs or stores in this process to `folder`."""
    os.environ["FLWR_HOME"] = str(folder / "flower-home")
    to_file = RotatingFileHandler(folder / LOG, maxBytes=_MAX_BYTES, backupCount=1, delay=True)
    to_file.setLevel(logging.INFO)
    lines = _OneLine("%(asctime)s %(levelname)s %(name)s %(message)s")
    to_file.setFormatter(_JsonLine() if is_json() else lines)
    for name in ("flwr", "uvicorn", "uvicorn.error", "uvicorn.access", "flwr-telemetry", "alembic"):
        logger = logging.getLogger(name)
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
            handler.close()
        logger.propagate = False
        logger.addHandler(to_file)
        logger.setLevel(logging.WARNING if name in ("uvicorn.access", "alembic") else logging.INFO)
