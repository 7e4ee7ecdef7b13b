"""How a contender is told what to do: one JSON object a line in, one out. Whatever it prints goes
to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Channel:
    """The two lines to the harness; anything else that writes to standard output is sent to
    standard error.
    """

    def __init__(self) -> None:
        self._in: TextIO = os.fdopen(os.dup(0), "r")
        self._out: TextIO = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        sys.stdout = sys.stderr

    def requests(self) -> Iterator[dict[str, Any]]:
        """Yield requests until the harness hangs up."""
        for line in self._in:
            yield json.loads(line)

    def next(self) -> dict[str, Any] | None:
        """Next request; None when the harness has hung up."""
        line = self._in.readline()
        return json.loads(line) if line else None

    def send(self, answer: dict[str, Any]) -> None:
        """Send one answer."""
        self._out.write(json.dumps(answer) + "\n")
        self._out.flush()


def serve(answer: Answer) -> None:
    """Answer every request until the harness hangs up."""
    channel = Channel()
    channel.send({"ready": True})
    for request in channel.requests():
        channel.send(answer(request))
