"""Read tables from files: CSV and similar formats, JSON lines, Excel, Parquet, Arrow; also
compressed with gzip or zstd.
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
from polars import selectors

from tacit.data.headers import seems_headerless
from tacit.data.parts import join_parts, list_parts, names_several_files
from tacit.data.plain_text import get_file_kind, read_unpacked, refuse_binary, to_utf8
from tacit.data.roles.roles import check_column_names
from tacit.errors import DataError, MisfitError, did_you_mean

_HEADER_BYTES = 1 << 16
ENDINGS = ".csv .tsv .txt .data .json .jsonl .xlsx .parquet .arrow, and .gz or .zst of these"
"""The file types that can be read, as messages name them."""


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """A text file's encoding, and whether its first line holds column names; None means detect.

    Without `guess`, a file that is not UTF-8 is refused unless its encoding is given, since a guess
    would depend on everybody's rows.
    """

    encoding: str | None = None
    header: bool | None = None
    guess: bool = True


class NoHeader(MisfitError):  # noqa: N818 - it asks a question
    """A file's first line looks like a row, and the plan does not say whether it is one."""


def is_file_source(source: str) -> bool:
    """Whether a data source is a file or several, by its extension or a final `/`."""
    return source.endswith("/") or get_file_kind(source) in _READERS


def read_file(
    source: str, text: TextFormat | None = None, *, key: str = "data.source"
) -> tuple[pl.DataFrame, str]:
    """Read the table of a file, a folder or a pattern; also return a note on several files, or if
    bytes needed repair.

    Edge cases: CSV cells are read as text, so "007" stays "007" in a text column; the separator is
    taken from the header line (comma, semicolon, tab or bar); a byte order mark is skipped; UTF-16
    is understood; another encoding is guessed and reported. A line with more cells than the header
    is refused with its number. A file whose first line looks like a row is refused unless `text`
    says whether it holds names.
    """
    if names_several_files(source):
        return join_parts(list_files(source, key), key, lambda part: _read_one(part, text, key))
    return _read_one(source, text, key)


def list_files(source: str, key: str = "data.source") -> list[Path]:
    """The files of a file source, in the order in which they are read."""
    if names_several_files(source):
        return list_parts(source, key, frozenset(_READERS))
    return [Path(source).expanduser()]


def _read_one(source: str, text: TextFormat | None, key: str) -> tuple[pl.DataFrame, str]:
    path = Path(source).expanduser()
    if not path.is_file():
        raise DataError(
            f"{key}: there is no file {source!r}; check the path.{_suggest_neighbour(path)}"
        )
    if path.stat().st_size == 0:
        raise DataError(f"{key} = {source!r}: the file is empty; check the path")
    try:
        frame, note = _READERS[get_file_kind(source)](path, text or TextFormat())
        _check_dates(frame)
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        ValueError,
        MemoryError,
    ) as error:
        # The reader's own words may quote a cell; only their kind is shown.
        raise DataError(
            f"{key} = {source!r}: the {path.suffix} file cannot be read ({type(error).__name__});"
            " check the file"
        ) from None
    if frame.height == 0:
        raise DataError(f"{key} = {source!r}: the file has a header and no rows; check the file")
    return check_column_names(frame, f"{key} = {source!r}"), note


def _suggest_neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    return did_you_mean(
        path.name, [other.name for other in itertools.islice(path.parent.iterdir(), 1000)]
    )


def read_csv(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    """Read every cell of a CSV or TSV file as text."""
    content, note = _decode(path, text)
    kind = get_file_kind(path.name)
    header = content[:_HEADER_BYTES].decode("utf-8", "replace").lstrip("\r\n").split("\n")[0]
    separator = _detect_separator(header, "\t" if kind == ".tsv" else ",")
    if kind in (".data", ".txt") and separator not in header:
        content, header = _split_on_spaces(content), ",".join(header.split())
    frame = _read_cells(path, content, separator, header=text.header is not False)
    if text.header is None and seems_headerless(
        next(csv.reader([header], delimiter=separator), []), frame
    ):
        raise NoHeader(
            f"data.source = {str(path)!r} seems to have no header: its first line looks like a"
            " row; set data.header = false (columns are then column_1, column_2, …), or true if"
            " these are names",
            "the file seems to have no header",
        )
    return frame, note


def _decode(path: Path, text: TextFormat) -> tuple[bytes, str]:
    content = read_unpacked(path)
    refuse_binary(path, content)
    return to_utf8(content, text.encoding, text.guess)


def _read_cells(path: Path, content: bytes, separator: str, *, header: bool) -> pl.DataFrame:
    try:
        frame = pl.read_csv(content, separator=separator, infer_schema=False, has_header=header)
    except pl.exceptions.NoDataError:
        raise DataError(f"data.source = {str(path)!r}: the file is empty; check the path") from None
    except pl.exceptions.PolarsError:
        raise _describe_broken_line(path, content, separator) from None
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    return _clean_names(frame)


def _clean_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Strip white space around column names and number repeated ones."""
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
    """Convert space-separated lines, as in many old files, to comma-separated ones; leave others
    unchanged.
    """
    lines = content.split(b"\n")
    widths = {len(line.split()) for line in lines[:50] if line.strip()}
    return (
        b"\n".join(b",".join(line.split()) for line in lines)
        if len(widths) == 1 and max(widths) > 1
        else content
    )


def _detect_separator(header: str, usual: str) -> str:
    """The most frequent separator in the header outside quotes; the usual one if there is none."""
    outside = "".join(header.split('"')[::2])
    best = max((usual, ",", ";", "\t", "|"), key=outside.count)
    return best if outside.count(best) else usual


def _describe_broken_line(path: Path, content: bytes, separator: str) -> DataError:
    """Build the error that names the first line with more cells than the header, or with broken
    quotes.
    """
    lines = csv.reader(
        io.StringIO(content.decode("utf-8"), newline=""), delimiter=separator, strict=True
    )
    where = f"data.source = {str(path)!r}"
    try:
        width = len(next((line for line in lines if line), []))
        for line in lines:
            if len(line) > width:
                return DataError(
                    f"{where}: line {lines.line_num:,} has {len(line)} cells, but the header has"
                    f" {width}; put cells that contain {separator!r} in double quotes"
                )
    except csv.Error:
        pass
    return DataError(
        f"{where}: a quote at or before line {lines.line_num:,} is not closed; inside a quoted cell"
        ' write " as ""'
    )


def read_json_lines(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    """Read a file with one JSON object in each line."""
    content, note = _decode(path, text)
    try:
        return pl.read_ndjson(io.BytesIO(content), infer_schema_length=None), note
    except (
        pl.exceptions.PolarsError
    ):  # mixed types in one column, or a broken line: go line by line
        rows = [
            _parse_object(path, number, line)
            for number, line in enumerate(content.splitlines(), 1)
            if line.strip()
        ]
        return pl.DataFrame(rows, infer_schema_length=None, strict=False), note


def read_json(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    """Read a JSON file: a list of objects, one per row, an object of columns, or JSON lines."""
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
            f'data.source = {str(path)!r}: the JSON is not a list of objects, one per row ([{{"text":'
            ' …, "label": …}, …]); save the rows that way, or as .csv'
        )
    return pl.DataFrame(value, infer_schema_length=None, strict=False), note


def _parse_object(path: Path, number: int, line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise DataError(
            f"data.source = {str(path)!r}: line {number:,} is not a JSON object; repair it"
        )
    return value


def _read_excel(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    try:
        frame = pl.read_excel(read_unpacked(path), has_header=text.header is not False)
    except ModuleNotFoundError:
        raise DataError(
            f"data.source = {str(path)!r}: reading Excel requires fastexcel; pip install"
            " 'tacit[excel]', or save the sheet as CSV"
        ) from None
    return _clean_names(frame.filter(~pl.all_horizontal(pl.all().is_null()))), " (its first sheet)"


def _read_parquet(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    return pl.read_parquet(read_unpacked(path)), ""


def _read_arrow(path: Path, text: TextFormat) -> tuple[pl.DataFrame, str]:
    # Not polars' own reader: it ends the process when a damaged file states a length that no memory
    # holds.
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise DataError(
            f"data.source = {str(path)!r}: reading an Arrow file requires pyarrow; pip install"
            " 'tacit[arrow]', or save the table as Parquet"
        ) from None
    content = pa.py_buffer(read_unpacked(path))
    try:
        try:
            table = pa.ipc.open_file(content).read_all()
        except pa.ArrowInvalid:
            table = pa.ipc.open_stream(content).read_all()
        table.validate(full=True)
    except pa.ArrowException as error:
        raise ValueError(type(error).__name__) from None
    return pl.DataFrame(table), ""


def _check_dates(frame: pl.DataFrame) -> None:
    """Raise the error of polars for dates outside its calendar, which would otherwise end a run
    later.
    """
    frame.select((selectors.date() | selectors.datetime()).cast(pl.String))


_READERS: dict[str, Callable[[Path, TextFormat], tuple[pl.DataFrame, str]]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".data"), read_csv),
    **dict.fromkeys((".jsonl", ".ndjson"), read_json_lines),
    ".json": read_json,
    ".xlsx": _read_excel,
    ".parquet": _read_parquet,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _read_arrow),
}
