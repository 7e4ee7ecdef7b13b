"""Register of which site of this machine keeps the ledger of which rows, so that a second site's
folder grants no second budget.

Rows are identified by a bottom-k sketch: the smallest keyed hashes of all rows, under a key of this
machine. Files that share rows share hashes. The register holds no row and reveals nothing without
the key.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tacit.data.read import TextFormat, is_file_source, read_file
from tacit.errors import DataError, PolicyError
from tacit.files import replace_file

_SKETCH_SIZE = 1024
_MIN_OVERLAP = 0.1
"""Estimated fraction of shared rows above which two files count as rows of the same people."""


@dataclass(frozen=True)
class RowsRegister:
    """The register in one state folder."""

    folder: Path

    def find_entry(self, site: str) -> Path:
        """Path of a site's entry."""
        return self.folder / "rows" / f"{site}.json"

    def claim(self, site: str, place: Path, source: str, text: TextFormat | None = None) -> None:
        """Register that the site in folder `place` keeps the ledger of these rows; raise
        PolicyError if another does.

        `text` says how the file is read. A named data set is public and not registered. A site that
        was moved is identified by its key and stays the same site.
        """
        if not is_file_source(source):
            return
        sketch = self._sketch(read_file(source, text)[0])
        for file in sorted((self.folder / "rows").glob("*.json")):
            if file.stem == site:
                continue
            try:
                other = json.loads(file.read_bytes())
                shared = estimate_overlap(sketch, list(other["rows"]))
                where = str(other["folder"])
            except (OSError, ValueError, KeyError, TypeError):
                raise PolicyError(
                    f"{file} cannot be read, so overlapping rows cannot be detected; repair or delete it"
                ) from None
            if shared >= _MIN_OVERLAP:
                raise PolicyError(
                    f"{source}: another site, in {where}, keeps the ledger of about {shared:.0%} of"
                    " these rows; join with that folder. To start a second budget for the"
                    f" same people on purpose, delete {file}"
                )
        (self.folder / "rows").mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(
            self.find_entry(site),
            json.dumps({"folder": str(place.resolve()), "rows": sketch}).encode(),
        )

    def _sketch(self, frame: pl.DataFrame) -> list[str]:
        if frame.height == 0:
            raise DataError(
                "the site's table has no rows; name a file with rows as `data` in site.toml"
            )
        key = self._load_key()
        cells = [
            pl.col(name).cast(pl.String, strict=False).fill_null("\0")
            for name in sorted(frame.columns)
        ]
        lines = frame.select(pl.concat_str(cells, separator="\x1f")).to_series()
        hashes = (
            hashlib.blake2b(line.encode(), digest_size=16, key=key).hexdigest()
            for line in lines.to_list()
        )
        return heapq.nsmallest(_SKETCH_SIZE, set(hashes))

    def _load_key(self) -> bytes:
        path = self.folder / "rows.key"
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            replace_file(path, os.urandom(32))
        return path.read_bytes()


def estimate_overlap(one: list[str], other: list[str]) -> float:
    """Estimated Jaccard similarity of two sets, from their smallest hashes.

    >>> estimate_overlap(["a", "b"], ["a", "b"]), estimate_overlap(["a"], ["b"])
    (1.0, 0.0)
    """
    smallest = heapq.nsmallest(min(_SKETCH_SIZE, max(len(one), len(other))), {*one, *other})
    return len({*one} & {*other} & {*smallest}) / max(1, len(smallest))
