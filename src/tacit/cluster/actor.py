"""An actor of the cluster: one process on one core, which answers packets until the run ends."""

from __future__ import annotations

import importlib
from typing import Any

from tacit.cluster.packet import Answerer, Packet
from tacit.errors import TacitError

Raw = tuple[bytes, list[Any]]
"""A packet as builtins and arrays of NumPy: nothing of ours is pickled."""
Outcome = tuple[str, bytes, list[Any]]
"""The name of an error (empty: none), then the body of the answer or the error's message, and
arrays.
"""


class Actor:
    """Answers calls by what `maker` ("package.module:name") makes; Ray runs it in its own process."""

    def __init__(self, maker: str) -> None:
        module, _, name = maker.partition(":")
        self._answerer: Answerer = getattr(importlib.import_module(module), name)()

    def is_up(self) -> bool:
        """True: the process runs."""
        return True

    def answer(self, kind: str, own: Raw, shared: Raw) -> Outcome:
        """Answer one call; an error of Tacit is returned, not raised."""
        try:
            found = self._answerer.answer(kind, Packet(*own), Packet(*shared))
        except TacitError as error:
            return type(error).__name__, str(error).encode(), []
        return "", found.body, list(found.blobs)
