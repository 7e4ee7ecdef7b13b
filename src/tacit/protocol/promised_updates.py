"""Updates that a site's clients committed to sending later in the round, so that they train only
once.

A commitment precedes the vote and the update follows it. A rejected client never sends its update.
A simulation computes what does not fit into memory again; since its randomness has an address, the
result is the same. A real site draws new noise after a restart, so it stores on disk what its
clients committed to.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Lock

import numpy as np

from tacit.codecs import EncodedUpdate
from tacit.files import replace_file, seal, unseal
from tacit.protocol.round import Request

_MOST_BYTES = 1 << 28
"""Limit on stored updates, for a simulation, whose only site has all clients; a real client stores
one.
"""
_PAYLOAD, _MEMORY = "payload", "memory "

_RequestKey = tuple[int, str]
"""A round, and the digest of its request."""


class PromisedUpdates:
    """Encoded updates of one round, by client; also on disk if there is a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._key, self._bytes = (0, ""), 0
        self._lock = Lock()  # clients of a simulation are trained in threads
        self._made: dict[int, EncodedUpdate] = {}

    def keep(self, name: int, request: Request, made: EncodedUpdate) -> None:
        """Keep the update that a client will send for this request; updates of other requests are
        dropped.
        """
        key = request.round_no, request.digest
        with self._lock:
            if key != self._key:
                self._key, self._bytes, self._made = key, 0, {}
                if self._folder is not None:
                    self._remove_others(key)
            if self._folder is not None:
                self._write(name, key, made)
            if self._bytes + made.payload.nbytes <= _MOST_BYTES:
                self._bytes += made.payload.nbytes
                self._made[name] = made

    def find(self, name: int, request: Request) -> EncodedUpdate | None:
        """The update a client committed to for this request; None if none is kept."""
        key = request.round_no, request.digest
        kept = self._made.get(name) if key == self._key else None
        return self._read(name, key) if kept is None and self._folder is not None else kept

    def _place(self, key: _RequestKey) -> Path:
        assert self._folder is not None
        return self._folder / f"{key[0]}-{key[1]}"

    def _remove_others(self, key: _RequestKey) -> None:
        here = self._place(key)
        for other in here.parent.glob("*"):
            if other != here:
                shutil.rmtree(other, ignore_errors=True)
        here.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _write(self, name: int, key: _RequestKey, made: EncodedUpdate) -> None:
        arrays = {
            _PAYLOAD: np.asarray(made.payload),
            **{_MEMORY + key: value for key, value in made.memory.items()},
        }
        replace_file(self._place(key) / f"{name}.safetensors", seal(arrays))

    def _read(self, name: int, key: _RequestKey) -> EncodedUpdate | None:
        path = self._place(key) / f"{name}.safetensors"
        if not path.exists():
            return None
        arrays, _ = unseal(path)
        memory = {
            key.removeprefix(_MEMORY): value for key, value in arrays.items() if key != _PAYLOAD
        }
        return EncodedUpdate(payload=arrays[_PAYLOAD], memory=memory)
