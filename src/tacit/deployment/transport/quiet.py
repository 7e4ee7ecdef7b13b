"""Flower's own words and files: kept in the folder of whoever uses it, never on the screen or in
the home folder.
"""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

from tacit.printable import printable_name

LOG = "flower.log"
_LARGEST = 2_000_000


class _OneLine(logging.Formatter):
    """Writes a message on one line, without control characters: Flower quotes what sites send."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """Return the line of a message; the lines of an exception come after it."""
        return printable_name(super().formatMessage(record))


def keep_quiet(folder: Path) -> None:
    """Let everything that Flower logs or stores in this process go to one folder."""
    os.environ["FLWR_HOME"] = str(folder / "flower-home")
    to_file = RotatingFileHandler(folder / LOG, maxBytes=_LARGEST, backupCount=1, delay=True)
    to_file.setLevel(logging.INFO)
    to_file.setFormatter(_OneLine("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in ("flwr", "uvicorn", "uvicorn.error", "uvicorn.access", "flwr-telemetry", "alembic"):
        logger = logging.getLogger(name)
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
            handler.close()
        logger.propagate = False
        logger.addHandler(to_file)
        logger.setLevel(logging.WARNING if name in ("uvicorn.access", "alembic") else logging.INFO)
