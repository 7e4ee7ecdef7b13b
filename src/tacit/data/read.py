"""Tables from files: CSV and its relatives, JSON lines, Excel, Parquet, Arrow; packed with gzip or
zstd too.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
from polars import selectors

from tacit.data.headers import seems_headerless
from tacit.data.plain_text import get_file_kind, read_unpacked, refuse_binary, to_utf8
from tacit.data.roles.roles import check_column_names
from tacit.errors import DataError, did_you_mean

_HEADER_BYTES = 1 << 16
ENDINGS = ".csv .tsv .txt .data .json .jsonl .xlsx .parquet .arrow, and .gz or .zst of these"
"""The kinds of file that are read, as messages name them."""


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """What a plan says of a file that is text: its encoding, and whether its first line holds
    names; None: look.

    Without `guess`, a file that is not UTF-8 is refused unless its encoding is given: a guess looks
    at everybody's rows.
    """

    encoding: str | None = None
    header: bool | None = None
    guess: bool = True


class NoHeader(DataError):  # noqa: N818 - it asks a question
    """A file's first line looks like a row, and nobody said whether it is one."""


def is_file_source(source: str) -> bool:
    """Return whether a data source is a file by its ending."""
    return get_file_kind(source) in _READERS


def read_file(
    source: str, text: TextFormat | None = None, *, key: str = "data.source"
) -> tuple[pl.DataFrame, str]:
    """Return the file's table, and an ending for the sentence about it if its bytes needed repair.

    Edge cases: CSV cells are read as text, so "007" stays "007" in a text column; the separator is
    taken from the header line (comma, semicolon, tab or bar); a byte order mark is skipped; UTF-16
    is understood; another encoding is guessed and told. A line with more cells than the header is
    refused with its number. A file whose first line looks like a row is refused unless `text` says
    whether it holds names.
    """
    path = Path(source).expanduser()
    if not path.is_file():
        raise DataError(
            f"{key} needs a file that exists, got {source!r}; check the path.{_neighbour(path)}"
        )
    if path.stat().st_size == 0:
        raise DataError(f"{key} = {source!r} needs rows, got an empty file; check the path")
    try:
        frame, note = _READERS[get_file_kind(source)](path, text or TextFormat())
        _write_out_days(frame)
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        pa.ArrowException,
        OSError,
        ValueError,
        MemoryError,
    ) as error:
        # The reader's own words may quote a cell; only their kind is shown.
        raise DataError(
            f"{key} = {source!r} needs a readable {path.suffix} file, got {type(error).__name__};"
            " check the file"
        ) from None
    if frame.height == 0:
        raise DataError(f"{key} = {source!r} needs rows, got a header only; check the file")
    return check_column_names(frame, f"{key} = {source!r}"), note


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    return did_you_mean(
        path.name, [other.name for other in itertools.islice(path.parent.iterdir(), 1000)]
    )


def read_csv(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    """Return every cell of a CSV or TSV file as text."""
    content, note = _decode(path, text)
    kind = get_file_kind(path.name)
    header = content[:_HEADER_BYTES].decode("utf-8", "replace").lstrip("\r\n").split("\n")[0]
    separator = _separator(header, "\t" if kind == ".tsv" else ",")
    if kind in (".data", ".txt") and separator not in header:
        content, header = _split_on_spaces(content), ",".join(header.split())
    frame = _cells(path, content, separator, header=text.header is not False)
    if text.header is None and seems_headerless(
        next(csv.reader([header], delimiter=separator), []), frame
    ):
        raise NoHeader(
            f"data.source = {str(path)!r} seems to have no line of names: its first line looks like"
            " a row; set data.header = false (columns are then column_1, column_2, …), or true if"
            " these are names"
        )
    return frame, note


def _decode(path: Path, text: TextFormat) -> tuple[bytes, str]:
    content = read_unpacked(path)
    refuse_binary(path, content)
    return to_utf8(content, text.encoding, text.guess)


def _cells(path: Path, content: bytes, separator: str, *, header: bool) -> pl.DataFrame:
    try:
        frame = pl.read_csv(content, separator=separator, infer_schema=False, has_header=header)
    except pl.exceptions.NoDataError:
        raise DataError(
            f"data.source = {str(path)!r} needs a header line and rows, got an empty file; check"
            " the path"
        ) from None
    except pl.exceptions.PolarsError:
        raise _describe_broken_line(path, content, separator) from None
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    return _clean_names(frame)


def _clean_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with names without white space around them; a name that is there twice gets
    a number.
    """
    names: list[str] = []
    for name in frame.columns:
        plain = re.sub(r"_duplicated_(\d+)$", "", name).strip() or name.strip()
        count = 2
        wish = plain
        while wish in names:
            wish, count = f"{plain}_{count}", count + 1
        names.append(wish)
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def _split_on_spaces(content: bytes) -> bytes:
    """Return lines of words between spaces, as many old files have them, as lines with commas;
    others as they are.
    """
    lines = content.split(b"\n")
    widths = {len(line.split()) for line in lines[:50] if line.strip()}
    return (
        b"\n".join(b",".join(line.split()) for line in lines)
        if len(widths) == 1 and max(widths) > 1
        else content
    )


def _separator(header: str, usual: str) -> str:
    """Return the separator that stands most often in the header outside quotes; the usual one if
    none does.
    """
    outside = "".join(header.split('"')[::2])
    best = max((usual, ",", ";", "\t", "|"), key=outside.count)
    return best if outside.count(best) else usual


def _describe_broken_line(path: Path, content: bytes, separator: str) -> DataError:
    """Return the refusal naming the first line with more cells than the header, or whose quotes are
    broken.
    """
    lines = csv.reader(
        io.StringIO(content.decode("utf-8"), newline=""), delimiter=separator, strict=True
    )
    who = f"data.source = {str(path)!r} needs"
    try:
        width = len(next((line for line in lines if line), []))
        for line in lines:
            if len(line) > width:
                return DataError(
                    f"{who} {width} cells in each line, as in its header, got {len(line)} in line"
                    f" {lines.line_num:,}; put cells that hold {separator!r} in double quotes"
                )
    except csv.Error:
        pass
    where = f"at or before line {lines.line_num:,}"
    return DataError(
        f'{who} well-formed quotes, got a broken one {where}; inside a quoted cell write " as ""'
    )


def read_json_lines(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    """Return the table of a file with one JSON object in each line."""
    content, note = _decode(path, text)
    try:
        return pl.read_ndjson(io.BytesIO(content), infer_schema_length=None), note
    except (
        pl.exceptions.PolarsError
    ):  # mixed types in one column, or a broken line: go line by line
        rows = [
            _object(path, number, line)
            for number, line in enumerate(content.splitlines(), 1)
            if line.strip()
        ]
        return pl.DataFrame(rows, infer_schema_length=None, strict=False), note


def read_json(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    """Return the table of a JSON file: a list of objects, one per row, or an object of columns;
    JSON lines are read too.
    """
    content, note = _decode(path, text)
    try:
        value = json.loads(content)
    except ValueError:
        if content.lstrip()[:1] == b"{":
            return read_json_lines(path, text)
        raise DataError(
            f"data.source = {str(path)!r} is not valid JSON; repair it, or save the table as .csv"
        ) from None
    rows = isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    columns = (
        isinstance(value, dict)
        and value
        and all(isinstance(cells, list) for cells in value.values())
    )
    if not rows and not (columns and len({len(cells) for cells in value.values()}) == 1):
        raise DataError(
            f'data.source = {str(path)!r}: the JSON is no list of objects, one per row ([{{"text":'
            ' …, "label": …}, …]); save the rows that way, or as .csv'
        )
    return pl.DataFrame(value, infer_schema_length=None, strict=False), note


def _object(path: Path, number: int, line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise DataError(
            f"data.source = {str(path)!r} needs one JSON object in each line, got something else in"
            f" line {number:,}; repair it"
        )
    return value


def _read_excel(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    try:
        frame = pl.read_excel(read_unpacked(path), has_header=text.header is not False)
    except ModuleNotFoundError:
        raise DataError(
            f"data.source = {str(path)!r} needs the package fastexcel, got none; pip install"
            " 'tacit[excel]', or save the sheet as CSV"
        ) from None
    return _clean_names(frame.filter(~pl.all_horizontal(pl.all().is_null()))), " (its first sheet)"


def _read_parquet(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    return pl.read_parquet(read_unpacked(path)), ""


def _read_arrow(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    # Not polars' own reader: it ends the process when a damaged file states a length that no memory
    # holds.
    content = pa.py_buffer(read_unpacked(path))
    try:
        table = pa.ipc.open_file(content).read_all()
    except pa.ArrowInvalid:
        table = pa.ipc.open_stream(content).read_all()
    table.validate(full=True)
    return pl.DataFrame(table), ""


def _write_out_days(frame: pl.DataFrame) -> None:
    """Raise what polars raises for days outside its calendar, which would else end a run later."""
    frame.select((selectors.date() | selectors.datetime()).cast(pl.String))


_READERS: dict[str, Callable[[Path, TextFormat], tuple[pl.DataFrame, str]]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".data"), read_csv),
    **dict.fromkeys((".jsonl", ".ndjson"), read_json_lines),
    ".json": read_json,
    ".xlsx": _read_excel,
    ".parquet": _read_parquet,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _read_arrow),
}
