"""Wire format of disclosed rows: packed by a client, and validated and unpacked by the server.

Layout: length of the header (4 bytes), the header (msgpack: name, kind and extent of each column),
the body (zlib). The body holds the columns one after another: a bit per row if cells may be
missing, then the cells as little-endian numbers; a text column is the length of each cell, then all
text. Every size follows from the header and the number of rows, and is checked against the
agreement before memory is allocated.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from typing import Annotated, Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import DataError, WireError

_TYPES: dict[str, tuple[pl.DataType, str]] = {
    "int8": (pl.Int8(), "<i1"),
    "int16": (pl.Int16(), "<i2"),
    "int32": (pl.Int32(), "<i4"),
    "int64": (pl.Int64(), "<i8"),
    "uint8": (pl.UInt8(), "<u1"),
    "uint16": (pl.UInt16(), "<u2"),
    "uint32": (pl.UInt32(), "<u4"),
    "uint64": (pl.UInt64(), "<u8"),
    "float32": (pl.Float32(), "<f4"),
    "float64": (pl.Float64(), "<f8"),
    "bool": (pl.Boolean(), "<u1"),
    "date": (pl.Date(), "<i4"),
    "datetime[ms]": (pl.Datetime("ms"), "<i8"),
    "datetime[us]": (pl.Datetime("us"), "<i8"),
    "datetime[ns]": (pl.Datetime("ns"), "<i8"),
}
_TEXT, _PICTURE = "text", "picture"
_PER_DAY = {
    "date": 1,
    "datetime[ms]": 86_400_000,
    "datetime[us]": 86_400_000_000,
    "datetime[ns]": 86_400_000_000_000,
}
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""Years 1 to 9999, in days from 1970; polars panics when it formats a day far outside."""
_LONGEST_TEXT = 1 << 20
_LARGEST_PICTURE = 1 << 24
_MOST_SHRINKING = 100
"""Largest compression ratio of the body; rows that would shrink more are sent uncompressed."""
_HEAD_BYTES_PER_COLUMN = 1024
_CELLS_AT_ONCE = 1 << 14
"""Cells of text that are Python strings at one time, so that memory follows the payload."""
_LENGTH = struct.Struct("<I")

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class _Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """`extent`: bytes of all cells of a text column, pixels of an image, 0 for other kinds."""

    name: Annotated[str, msgspec.Meta(max_length=200)]
    kind: str
    extent: Whole
    holes: bool

    def sizes(self, rows: int) -> tuple[int, int, int]:
        """Bytes of the missing-cell bits, of the lengths or numbers, and of the text."""
        bits = (rows + 7) // 8 if self.holes else 0
        if self.kind == _TEXT:
            return bits, 4 * rows, self.extent
        each = self.extent if self.kind == _PICTURE else np.dtype(_TYPES[self.kind][1]).itemsize
        return bits, each * rows, 0


def pack_rows(frame: pl.DataFrame) -> bytes:
    """Serialise rows; categories are written as text, since their numbers are not part of a
    message.

    Guarantees: `unpack_rows` restores the same values and types to the bit, missing cells included.
    """
    columns, parts = [], list[bytes]()
    for series in expand_categories(frame):
        column, cells = _pack_column(series)
        columns.append(column)
        parts += cells
    body = b"".join(parts)
    small = zlib.compress(body)
    small = small if len(body) <= _MOST_SHRINKING * len(small) else zlib.compress(body, 0)
    head = msgspec.msgpack.encode(columns)
    return _LENGTH.pack(len(head)) + head + small


def unpack_rows(payload: bytes, columns: tuple[str, ...], rows: int) -> pl.DataFrame:
    """Parse serialised rows; raise WireError unless they are exactly that many rows of exactly
    these columns.

    Guarantees: memory is proportional to the payload's length (at most about 100 times), whatever
    its content and `rows`.
    """
    heads, body = _parse_header(payload, columns)
    for column in heads:
        _check_extent(column, rows)
    total = sum(sum(column.sizes(rows)) for column in heads)
    if total > _MOST_SHRINKING * len(body):
        raise _build_error(
            f"{rows:,} rows of {len(columns)} columns take {total:,} bytes, which cannot fit into"
            f" {len(body):,}"
        )
    content, found, begin = _decompress(body, total), [], 0
    for column in heads:
        size = sum(column.sizes(rows))
        found.append(_unpack_column(column, content[begin : begin + size], rows))
        begin += size
    return pl.DataFrame(found)


def expand_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert categorical columns to text."""
    listed = [
        name for name, kind in frame.schema.items() if isinstance(kind, pl.Enum | pl.Categorical)
    ]
    return frame.with_columns(pl.col(listed).cast(pl.String)) if listed else frame


def check_kinds(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Check that each column of received rows has the kind of values in `schema`; raise WireError
    if not.

    Integers and decimals are one kind, text and categories are one, images of different sizes are
    two. Numbers must be finite.
    """
    for name, series in zip(rows.columns, rows, strict=True):
        wanted, got = _get_family(schema[name]), _get_family(series.dtype)
        if wanted != got:
            raise _build_error(f"column {name!r} must hold {wanted}, got {got}")
        if series.dtype.is_float() and not bool(series.is_finite().fill_null(True).all()):
            raise _build_error(f"column {name!r} holds numbers that are not finite")
    return rows


def _get_family(kind: pl.DataType) -> str:
    if isinstance(kind, pl.Array):
        return f"images of {kind.size} pixels"
    if isinstance(kind, pl.Enum | pl.Categorical | pl.String):
        return "text"
    return "numbers" if kind.is_numeric() else str(kind)


def _pack_column(series: pl.Series) -> tuple[_Column, list[bytes]]:
    missing = series.is_null().to_numpy()
    holes = bool(missing.any())
    first = [np.packbits(missing).tobytes()] if holes else []
    if series.dtype == pl.String:
        cells = [cell.encode() for cell in series.fill_null("")]
        lengths = np.array([len(cell) for cell in cells], "<u4")
        _check_longest(series.name, int(lengths.max(initial=0)))
        return _Column(series.name, _TEXT, int(lengths.sum(dtype=np.int64)), holes), [
            *first,
            lengths.tobytes(),
            *cells,
        ]
    present = series.drop_nulls().to_physical()
    if (
        isinstance(series.dtype, pl.Array)
        and series.dtype.inner == pl.UInt8
        and len(series.dtype.shape) == 1
    ):
        column = _Column(series.name, _PICTURE, series.dtype.size, holes)
        values: NDArray[Any] = np.zeros((len(series), series.dtype.size), np.uint8)
    else:
        column = _Column(series.name, _get_kind(series), 0, holes)
        values = np.zeros(len(series), _TYPES[column.kind][1])
    if len(present):
        values[~missing] = present.to_numpy()
    return column, [*first, values.tobytes()]


def _get_kind(series: pl.Series) -> str:
    found = next((kind for kind, (known, _) in _TYPES.items() if known == series.dtype), None)
    if found is None:
        raise DataError(
            f"column {series.name!r} holds {series.dtype}, which cannot be disclosed; convert it"
            " to numbers, text, dates or images, or leave it out with data.share.generalise ="
            " 'suppress'"
        )
    return found


def _check_longest(name: str, length: int) -> None:
    if length > _LONGEST_TEXT:
        raise DataError(
            f"column {name!r} has a text of {length:,} bytes, and at most {_LONGEST_TEXT:,} can be"
            " disclosed; shorten it, or leave the column out with data.share.generalise ="
            " 'suppress'"
        )


def _parse_header(payload: bytes, columns: tuple[str, ...]) -> tuple[list[_Column], memoryview]:
    view = memoryview(payload)
    length = _LENGTH.unpack(view[:4])[0] if len(view) >= _LENGTH.size else 0
    begin = _LENGTH.size + length
    if not 0 < length <= _HEAD_BYTES_PER_COLUMN * len(columns) or begin > len(view):
        raise _build_error(f"the header of {length:,} bytes does not fit {len(columns)} columns")
    try:
        heads = msgspec.msgpack.decode(view[_LENGTH.size : begin], type=list[_Column])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise _build_error("the header is malformed") from None
    for place, (name, column) in enumerate(itertools.zip_longest(columns, heads), 1):
        if column is None:
            raise _build_error(f"column {name!r} is missing")
        if name is None:
            raise _build_error(f"column {place}, {column.name!r}, was not requested")
        if column.name != name:
            raise _build_error(f"column {place} must be {name!r}, got {column.name!r}")
    return heads, view[begin:]


def _check_extent(column: _Column, rows: int) -> None:
    most = {_TEXT: _LONGEST_TEXT * rows, _PICTURE: _LARGEST_PICTURE}.get(column.kind, 0)
    if column.kind not in (*_TYPES, _TEXT, _PICTURE) or column.extent > most:
        raise _build_error(f"column {column.name!r} has an unknown kind or too large cells")


def _decompress(body: memoryview, total: int) -> bytes:
    reader = zlib.decompressobj()
    try:
        content = reader.decompress(body, total + 1)
    except zlib.error:
        raise _build_error("the body cannot be unpacked") from None
    if len(content) != total or not reader.eof or reader.unused_data:
        raise _build_error(f"the body does not have the expected {total:,} bytes")
    return content


def _unpack_column(column: _Column, content: bytes, rows: int) -> pl.Series:
    bits, cells, _ = column.sizes(rows)
    missing = (
        np.unpackbits(np.frombuffer(content, np.uint8, bits), count=rows).astype(bool)
        if column.holes
        else None
    )
    if column.kind == _TEXT:
        lengths = np.frombuffer(content, "<u4", rows, bits).astype(np.int64)
        series = _unpack_texts(column, lengths, content[bits + cells :])
    elif column.kind == _PICTURE:
        values = np.frombuffer(content, np.uint8, cells, bits).reshape(rows, column.extent).copy()
        series = pl.Series(column.name, values, dtype=pl.Array(pl.UInt8, column.extent))
    else:
        series = _unpack_numbers(
            column, np.frombuffer(content, _TYPES[column.kind][1], rows, bits).copy()
        )
    if missing is None:
        return series
    present = pl.when(pl.Series(~missing)).then(series).otherwise(None)
    return pl.select(present.alias(column.name)).to_series()


def _unpack_texts(column: _Column, lengths: NDArray[np.int64], letters: bytes) -> pl.Series:
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    if ends[-1] != len(letters) or lengths.max(initial=0) > _LONGEST_TEXT:
        raise _build_error(f"the texts of column {column.name!r} do not have the stated lengths")
    begins = ends[ends < len(letters)]
    # All letters are UTF-8 and no cell begins in the middle of a character: so every cell is UTF-8.
    if not _is_utf8(letters) or bool(
        (np.frombuffer(letters, np.uint8)[begins] & 0xC0 == 0x80).any()
    ):
        raise _build_error(f"the texts of column {column.name!r} are not UTF-8")
    text = pl.Series(column.name, [], dtype=pl.String)
    for first in range(0, len(lengths), _CELLS_AT_ONCE):
        places = ends[first : first + _CELLS_AT_ONCE + 1].tolist()
        cells = [letters[begin:end].decode() for begin, end in itertools.pairwise(places)]
        text.append(pl.Series(cells, dtype=pl.String))
    return text.rechunk()


def _is_utf8(letters: bytes) -> bool:
    try:
        letters.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unpack_numbers(column: _Column, values: NDArray[Any]) -> pl.Series:
    if column.kind == "bool" and values.max(initial=0) > 1:
        raise _build_error(f"column {column.name!r} has booleans other than 0 and 1")
    if column.kind in _PER_DAY and len(values):
        days = values // _PER_DAY[column.kind]
        if days.min() < _FIRST_DAY or days.max() > _LAST_DAY:
            raise _build_error(f"column {column.name!r} has dates outside the years 1 to 9999")
    return pl.Series(column.name, values).cast(_TYPES[column.kind][0])


def _build_error(reason: str) -> WireError:
    return WireError(f"disclosed rows refused: {reason}")
