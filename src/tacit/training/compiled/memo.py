"""Results of full-batch training, cached by their starting point: training is deterministic.

Arms that are compared train their first round from the same model on the same rows.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

import numpy as np
from numpy.typing import NDArray

_LARGEST = 1 << 26
"""Bytes of cached nets; the least recently used is dropped first."""


class Memo:
    """A cache of nets, keyed by a hash of what training started from."""

    def __init__(self) -> None:
        self._nets: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, key: bytes) -> NDArray[np.float32] | None:
        """Return the cached net, or None."""
        with self._lock:
            if key in self._nets:
                self._nets.move_to_end(key)
            return self._nets.get(key)

    def put(self, key: bytes, net: NDArray[np.float32]) -> None:
        """Store a copy of a net."""
        with self._lock:
            if key in self._nets or net.nbytes > _LARGEST:
                return
            self._nets[key] = net.copy()
            self._bytes += net.nbytes
            while self._bytes > _LARGEST:
                self._bytes -= self._nets.popitem(last=False)[1].nbytes


def hash_arrays(arrays: Iterable[NDArray[np.generic]], *settings: object) -> bytes:
    """Hash arrays and settings."""
    digest = hashlib.sha256(repr(settings).encode())
    for array in arrays:
        digest.update(repr((array.shape, array.dtype)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


MEMO = Memo()
