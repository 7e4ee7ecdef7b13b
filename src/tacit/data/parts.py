"""A table in several files of one kind: a folder, or a pattern such as `visits/*.parquet`."""

from __future__ import annotations

import glob
from collections.abc import Callable
from pathlib import Path

import polars as pl

from tacit.data.plain_text import get_file_kind
from tacit.errors import DataError

MOST_FILES = 100_000
_MAGIC = frozenset("*?[")


def names_several_files(source: str) -> bool:
    """Whether a source is a folder, which ends in `/`, or a pattern; a file whose own name contains
    such a character is one file.
    """
    return source.endswith("/") or (
        bool(_MAGIC & set(source)) and not Path(source).expanduser().is_file()
    )


def list_parts(source: str, key: str, kinds: frozenset[str]) -> list[Path]:
    """The files of a folder or pattern, by name; raise DataError unless there is one and all are of
    one kind. Hidden files, such as those that a writer has not finished, are left out.
    """
    place = Path(source).expanduser()
    if source.endswith("/"):
        if not place.is_dir():
            raise DataError(f"{key}: there is no folder {source!r}; check the path")
        named = [path for path in sorted(place.iterdir()) if get_file_kind(path.name) in kinds]
    else:
        named = [Path(name) for name in sorted(glob.glob(str(place), recursive=True))]
    found = [path for path in named if path.is_file() and not path.name.startswith((".", "_"))]
    if not found:
        raise DataError(f"{key}: no file of a table matches {source!r}; check the path")
    if len(found) > MOST_FILES:
        raise DataError(
            f"{key} = {source!r}: {len(found):,} files, at most {MOST_FILES:,} can be read; join some"
        )
    present = sorted({get_file_kind(path.name) for path in found})
    if len(present) > 1:
        raise DataError(
            f"{key} = {source!r}: files of several kinds ({', '.join(present)}); name one kind, as"
            f" in {str(found[0].parent / f'*{present[0]}')!r}"
        )
    return found


def join_parts(
    parts: list[Path], key: str, read: Callable[[str], tuple[pl.DataFrame, str]]
) -> tuple[pl.DataFrame, str]:
    """Read files one after the other and join their rows; all must have the columns of the first.

    A column that is an integer in one file and has fractions in another becomes a number with
    fractions. Notes on single files name them.
    """
    frames, notes = list[pl.DataFrame](), list[str]()
    for path in parts:
        frame, note = read(str(path))
        first = frames[0] if frames else frame
        lacking = [name for name in first.columns if name not in frame.columns]
        extra = [name for name in frame.columns if name not in first.columns]
        if lacking or extra:
            which = ("lacks", lacking) if lacking else ("has, unlike the first file,", extra)
            raise DataError(
                f"{key}: {path} {which[0]} {', '.join(map(repr, which[1][:10]))}; all files of a"
                f" table need the columns of {parts[0].name}"
            )
        frames.append(frame.select(first.columns))
        notes += [f"{path.name}: {note.strip(' ()')}"] if note else []
    mixed = [name for name in frames[0].columns if not _has_one_type(frames, name)]
    if mixed:
        raise DataError(
            f"{key}: the files have different types in {', '.join(map(repr, mixed[:10]))}; write"
            " these columns with one type"
        )
    whole = pl.concat(frames, how="vertical_relaxed")
    note = f" ({len(parts):,} files{''.join(f'; {note}' for note in notes[:5])})"
    return whole, note


def _has_one_type(frames: list[pl.DataFrame], name: str) -> bool:
    """Whether a column has one type in all files, or is a number in all; an empty column has any."""
    types = {frame.schema[name] for frame in frames} - {pl.Null()}
    return len(types) <= 1 or all(one.is_numeric() for one in types)
