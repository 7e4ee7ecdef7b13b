"""What is known about a named data set: where its files are, how they are recognised, and what its columns mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tacit.data.packages import Package
from tacit.plan import Columns


@dataclass(frozen=True, kw_only=True)
class File:
    """One file, recognised by name and checksum; with a public address if anybody may fetch it.

    The size (bytes) is for people who wait; the checksum alone decides.
    """

    name: str
    checksum: str
    size: int
    url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to have the set: some files and the reader that turns them into the set's table.

    All ways of one set give every column that has a role; some give more.
    `note` says where this way's rows differ from the first way's.
    """

    name: str
    files: tuple[File, ...]
    read: Callable[[Mapping[str, Path]], pl.DataFrame]
    package: Package | None = None
    note: str = ""
    keep: bool = False  # the reader is fast on these very files: no need to store its table

    @property
    def obtainable(self) -> bool:
        """Whether these files can be fetched by anybody without an account."""
        return self.package is not None or all(file.url for file in self.files)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A named data set."""

    name: str
    title: str
    rows: int
    terms: str
    columns: Columns
    ways: tuple[Way, ...]
    by_hand: str = ""  # what a person can do where no way can be fetched

    @property
    def size(self) -> int:
        """Bytes to fetch on the first way that can be fetched, or of the prepared files if none can."""
        way = next((way for way in self.ways if way.obtainable), self.ways[0])
        return way.package.size if way.package else sum(file.size for file in way.files)


def only(files: Mapping[str, Path]) -> Path:
    """Return the path of a way that has one file."""
    (path,) = files.values()
    return path
