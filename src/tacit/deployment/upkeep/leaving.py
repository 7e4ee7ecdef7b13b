"""Stopping the process that acts for a site, as its owner decides."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tacit.deployment.site.site_folder import find_joined_process
from tacit.errors import RunError

_PAUSE_SECONDS, _MOST_PAUSES = 0.1, 100


def leave_server(folder: Path) -> None:
    """Stop the process of `tacit site join`; raise RunError if none runs, or if it goes on."""
    number = find_joined_process(folder)
    if number is None:
        raise RunError(f"{folder}: no process of this site is running; nothing to stop")
    os.kill(number, signal.SIGTERM)
    for _ in range(_MOST_PAUSES):
        if find_joined_process(folder) is None:
            return
        time.sleep(_PAUSE_SECONDS)
    raise RunError(f"{folder}: process {number} is still running, possibly in training; try again")
