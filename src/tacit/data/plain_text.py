"""Decode a file's bytes to UTF-8 text: decompressed, in the given or guessed encoding; guesses are
reported.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path

from tacit.errors import DataError, MisfitError

PACKED = {".gz": "gzip", ".zst": "zstd"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_GUESSED = [
    "cp1252",
    "cp1250",
    "cp1251",
    "koi8_r",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "shift_jis",
    "gb18030",
    "big5",
    "euc_kr",
]
"""Encodings of text files that are not UTF-8."""
_LOOKED_AT = 1 << 18
_BINARY = {
    b"\x89PNG": "an image (PNG)",
    b"\xff\xd8\xff": "an image (JPEG)",
    b"GIF8": "an image (GIF)",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a packed file (zip, or an Excel or Word document)",
    b"\x1f\x8b": "a packed file (gzip)",
    b"\x28\xb5\x2f\xfd": "a packed file (zstd)",
    b"PAR1": "a Parquet table",
    b"ARROW1": "an Arrow table",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word document",
    b"SQLite format 3": "a database",
    b"\x7fELF": "a program",
}
"""First bytes of files that are not text."""


def get_file_kind(source: str) -> str:
    """The extension that says what a file is, such as ".csv" for "visits.csv.gz"."""
    path = Path(source)
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()


def read_unpacked(path: Path) -> bytes:
    """Read a file's bytes, decompressed if its extension says so."""
    packed = PACKED.get(path.suffix.lower())
    if packed is None:
        return path.read_bytes()
    return _read_gzip(path) if packed == "gzip" else _read_zstd(path)


def _read_gzip(path: Path) -> bytes:
    try:
        with gzip.open(path) as stream:
            return stream.read()
    except (EOFError, zlib.error) as error:
        raise OSError(f"damaged: {error}") from None


def _read_zstd(path: Path) -> bytes:
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise DataError(
            f"{path}: reading a .zst file requires pyarrow; pip install 'tacit[arrow]', or unpack"
            " the file first"
        ) from None
    with pa.input_stream(str(path), compression="zstd") as stream:
        content: bytes = stream.read()
        return content


def to_utf8(content: bytes, encoding: str | None, guess: bool = True) -> tuple[bytes, str]:
    """Convert text to UTF-8; also return a note if the encoding had to be guessed.

    Edge cases: a byte order mark is skipped and decides; UTF-8 is tried first; line ends of old
    Macintosh files are understood.
    """
    text, note = _decode(content, encoding, guess)
    if b"\n" not in text:
        text = text.replace(b"\r", b"\n")
    return text, note


def refuse_binary(path: Path, content: bytes) -> None:
    """Raise DataError for bytes that are not text, regardless of the extension."""
    kind = next((what for start, what in _BINARY.items() if content.startswith(start)), None)
    looked = content[:_LOOKED_AT]
    if (
        kind is None
        and looked.count(0) > max(3, len(looked) / 200)
        and not content.startswith(_UTF16)
    ):
        kind = "something other than text"
    if kind:
        raise DataError(
            f"{path} holds {kind}, despite its extension; save the table as .csv in UTF-8, or"
            " correct its name"
        )


def _decode(content: bytes, encoding: str | None, guess: bool) -> tuple[bytes, str]:
    if content.startswith(_UTF16):
        return content.decode("utf-16", "replace").encode(), ""
    content = content.removeprefix(codecs.BOM_UTF8)
    if encoding:
        return _decode_as_given(content, encoding), ""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        if not guess:
            raise MisfitError(
                f"the site's file is not UTF-8 (byte {error.start:,}); save it as UTF-8, or set"
                " encoding in site.toml, for example encoding = 'cp1252'",
                "the encoding is not UTF-8",
            ) from None
        return _decode_as_guessed(content)
    return content, ""


def _decode_as_given(content: bytes, encoding: str) -> bytes:
    try:
        return content.decode(encoding).encode()
    except LookupError:
        raise DataError(
            f"data.encoding must be an encoding such as 'utf-8' or 'cp1252', got {encoding!r}"
        ) from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"data.encoding = {encoding!r} does not fit the file (byte {error.start:,}); leave it"
            " out to have it guessed"
        ) from None


def _decode_as_guessed(content: bytes) -> tuple[bytes, str]:
    from charset_normalizer import from_bytes

    best = from_bytes(content[:_LOOKED_AT], cp_isolation=_GUESSED).best()
    if best is not None:
        try:
            guessed = (
                f" (it is not UTF-8 and was read as {best.encoding}, a guess; data.encoding says"
                " otherwise)"
            )
            return content.decode(best.encoding).encode(), guessed
        except UnicodeDecodeError:
            pass
    lost = (
        " (some bytes are not UTF-8 and were replaced; save it as UTF-8, or name data.encoding, to"
        " keep them)"
    )
    return content.decode("utf-8", "replace").encode(), lost
