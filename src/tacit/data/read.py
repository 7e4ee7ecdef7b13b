"""Tables from files: CSV and its relatives, JSON lines, Parquet, Arrow."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
from polars import selectors

from tacit.data.roles import plainly_named
from tacit.errors import DataError, did_you_mean

_HEADER_BYTES = 1 << 16
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def is_file_source(source: str) -> bool:
    """Return whether a data source is a file by its ending."""
    return Path(source).suffix.lower() in _READERS


def read_file(source: str) -> tuple[pl.DataFrame, str]:
    """Return the file's table, and an ending for the sentence about it if its bytes needed repair.

    Edge cases: CSV cells are read as text, so "007" stays "007" in a text column; the separator is taken from the
    header line (comma, semicolon or tab); a byte order mark is skipped; UTF-16 is understood; bytes that are not UTF-8
    become "�". A line with more cells than the header is refused with its number.
    """
    path = Path(source).expanduser()
    if not path.is_file():
        raise DataError(f"data.source needs a file that exists, got {source!r}; check the path.{_neighbour(path)}")
    if path.stat().st_size == 0:
        raise DataError(f"data.source = {source!r} needs rows, got an empty file; check the path")
    try:
        frame, note = _READERS[path.suffix.lower()](path)
        _write_out_days(frame)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError, ValueError, MemoryError) as error:
        # The reader's own words may quote a cell; only their kind is shown.
        raise DataError(
            f"data.source = {source!r} needs a readable {path.suffix} file, got {type(error).__name__}; check the file"
        ) from None
    if frame.height == 0:
        raise DataError(f"data.source = {source!r} needs rows, got a header only; check the file")
    return plainly_named(frame, f"data.source = {source!r}"), note


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    return did_you_mean(path.name, [other.name for other in itertools.islice(path.parent.iterdir(), 1000)])


def read_csv(path: Path) -> tuple[pl.DataFrame, str]:
    """Return every cell of a CSV or TSV file as text."""
    content, note = _utf8(path.read_bytes())
    header = content[:_HEADER_BYTES].decode("utf-8", "replace").lstrip("\r\n").split("\n")[0]
    separator = _separator(header, "\t" if path.suffix.lower() == ".tsv" else ",")
    try:
        frame = pl.read_csv(content, separator=separator, infer_schema=False)
    except pl.exceptions.NoDataError:
        raise DataError(f"data.source = {str(path)!r} needs a header line and rows, got an empty file; check the path") from None
    except pl.exceptions.PolarsError:
        raise _broken_line(path, content, separator) from None
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    return frame.rename({name: name.strip() for name in frame.columns}), note


def _utf8(content: bytes) -> tuple[bytes, str]:
    if content.startswith(_UTF16):
        return content.decode("utf-16", "replace").encode(), ""
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in content:  # line ends of old Macintosh files
        content = content.replace(b"\r", b"\n")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode(
            "utf-8", "replace"
        ).encode(), " (some bytes are not UTF-8 and were replaced; save it as UTF-8 to keep them)"
    return content, ""


def _separator(header: str, usual: str) -> str:
    """Return the separator that stands most often in the header outside quotes; the usual one if none does."""
    outside = "".join(header.split('"')[::2])
    best = max((usual, ",", ";", "\t"), key=outside.count)
    return best if outside.count(best) else usual


def _broken_line(path: Path, content: bytes, separator: str) -> DataError:
    """Return the refusal naming the first line with more cells than the header, or whose quotes are broken."""
    lines = csv.reader(io.StringIO(content.decode("utf-8"), newline=""), delimiter=separator, strict=True)
    who = f"data.source = {str(path)!r} needs"
    try:
        width = len(next((line for line in lines if line), []))
        for line in lines:
            if len(line) > width:
                return DataError(
                    f"{who} {width} cells in each line, as in its header, got {len(line)} in line {lines.line_num:,}; "
                    f"put cells that hold {separator!r} in double quotes"
                )
    except csv.Error:
        pass
    where = f"at or before line {lines.line_num:,}"
    return DataError(f'{who} well-formed quotes, got a broken one {where}; inside a quoted cell write " as ""')


def read_json_lines(path: Path) -> tuple[pl.DataFrame, str]:
    """Return the table of a file with one JSON object in each line."""
    content, note = _utf8(path.read_bytes())
    try:
        return pl.read_ndjson(io.BytesIO(content), infer_schema_length=None), note
    except pl.exceptions.PolarsError:  # mixed types in one column, or a broken line: go line by line
        rows = [_object(path, number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
        return pl.DataFrame(rows, infer_schema_length=None, strict=False), note


def _object(path: Path, number: int, line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise DataError(
            f"data.source = {str(path)!r} needs one JSON object in each line, got something else in line {number:,}; repair it"
        )
    return value


def _read_parquet(path: Path) -> tuple[pl.DataFrame, str]:
    return pl.read_parquet(path), ""


def _read_arrow(path: Path) -> tuple[pl.DataFrame, str]:
    # Not polars' own reader: it ends the process when a damaged file states a length that no memory holds.
    try:
        table = pa.ipc.open_file(path).read_all()
    except pa.ArrowInvalid:
        table = pa.ipc.open_stream(path).read_all()
    table.validate(full=True)
    return pl.DataFrame(table), ""


def _write_out_days(frame: pl.DataFrame) -> None:
    """Raise what polars raises for days outside its calendar, which would else end a run later."""
    frame.select((selectors.date() | selectors.datetime()).cast(pl.String))


_READERS: dict[str, Callable[[Path], tuple[pl.DataFrame, str]]] = {
    **dict.fromkeys((".csv", ".tsv"), read_csv),
    **dict.fromkeys((".jsonl", ".ndjson"), read_json_lines),
    ".parquet": _read_parquet,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _read_arrow),
}
