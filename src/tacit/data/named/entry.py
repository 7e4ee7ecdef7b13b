"""Description of a named data set: its files, their checksums, and the meaning of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tacit.data.download.packages import Package
from tacit.plan import Columns


@dataclass(frozen=True, kw_only=True)
class File:
    """One file, identified by name and checksum; with a URL if it is publicly available.

    The size (bytes) is for progress only; the checksum decides.
    """

    name: str
    checksum: str
    size: int
    url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to obtain the data set: some files and the reader that builds the table from them.

    All ways of one data set give every column that has a role; some give more. `note` says where
    the rows differ from the first way's.
    """

    name: str
    files: tuple[File, ...]
    read: Callable[[Mapping[str, Path]], pl.DataFrame]
    package: Package | None = None
    note: str = ""
    keep: bool = False  # the reader is fast on these very files: no need to store its table

    @property
    def obtainable(self) -> bool:
        """Whether anybody can download these files without an account."""
        return self.package is not None or all(file.url for file in self.files)


@dataclass(frozen=True, kw_only=True)
class NamedDataSet:
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
        """Bytes to download by the first available way, or of the prepared files if there is none."""
        way = next((way for way in self.ways if way.obtainable), self.ways[0])
        return way.package.size if way.package else sum(file.size for file in way.files)


def get_only_file(files: Mapping[str, Path]) -> Path:
    """The path of the only file."""
    (path,) = files.values()
    return path
