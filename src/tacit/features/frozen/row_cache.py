"""Cache of the rows that a frozen network computes, keyed by the content of the image or text, so
that any split, limit or seed finds them again.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import RunError
from tacit.files import replace_file, seal, unseal

_KEY_BYTES = 16


@dataclass(frozen=True)
class RowCache:
    """A folder of checksummed files with hashes of items (images or texts) and feature rows; a damaged
    file counts as absent. Only its owner can read it, because rows tell much about texts.
    """

    folder: Path
    width: int

    def find(self, items: Iterable[bytes]) -> CachedRows:
        """Look up the rows of some items, given by their bytes."""
        keys = [_hash_item(item) for item in items]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        found = CachedRows(
            kept=self,
            places=places,
            which=np.array([places[key] for key in keys], np.int64),
            rows=np.empty((len(places), self.width), np.float32),
            known=np.zeros(len(places), np.bool_),
        )
        found.look()
        return found

    def put(self, keys: list[bytes], rows: NDArray[np.float32]) -> None:
        """Store some rows in a new file."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stacked = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, _KEY_BYTES)
        name = hashlib.sha256(stacked.tobytes()).hexdigest()[:32]
        replace_file(self.folder / f"{name}.safetensors", seal({"keys": stacked, "rows": rows}))


@dataclass
class CachedRows:
    """The rows known for some items. Equal items share a row: `which` maps each item to its row."""

    kept: RowCache
    places: dict[bytes, int]
    which: NDArray[np.int64]
    rows: NDArray[np.float32]
    known: NDArray[np.bool_]
    seen: set[Path] = field(default_factory=set)

    @property
    def done(self) -> int:
        """The number of items that have a row."""
        return int(self.known[self.which].sum())

    def look(self) -> None:
        """Load rows from files that other processes wrote in the meantime."""
        files = set(self.kept.folder.glob("*.safetensors")) - self.seen
        for file in sorted(files):
            self._take(file)
        self.seen |= files

    def _take(self, file: Path) -> None:
        try:
            arrays, _ = unseal(file)
        except RunError:
            return
        places = np.array([self.places.get(key.tobytes(), -1) for key in arrays["keys"]], np.int64)
        ours = places >= 0
        self.rows[places[ours]] = arrays["rows"][ours]
        self.known[places[ours]] = True

    def missing(self, count: int) -> NDArray[np.int64]:
        """Select up to `count` items without a row, one of each content.

        They start at a random place, so that processes working on the same items share the work.
        """
        self.look()
        first = np.unique(self.which, return_index=True)[1]
        unknown = first[~self.known]
        return np.roll(unknown, -secrets.randbelow(max(1, len(unknown))))[:count]

    def add(self, items: NDArray[np.int64], rows: NDArray[np.float32]) -> None:
        """Add and store the rows of some items that had none."""
        places = self.which[items]
        self.rows[places], self.known[places] = rows, True
        named = list(self.places)
        self.kept.put([named[place] for place in places.tolist()], rows)

    def matrix(self) -> NDArray[np.float32]:
        """One row per item, in order."""
        return self.rows if len(self.rows) == len(self.which) else self.rows[self.which]


def _hash_item(item: bytes) -> bytes:
    return hashlib.blake2b(item, digest_size=_KEY_BYTES).digest()
