"""Disclosed rows as bytes: what goes in comes out, and whatever else arrives is refused in one sentence."""

from __future__ import annotations

import datetime
import struct
import tracemalloc
import zlib

import msgspec
import numpy as np
import polars as pl
import pytest

from tacit.data.k_anonymity import check_kinds, pack_rows, unpack_rows
from tacit.errors import DataError, WireError

DAY, NIGHT = datetime.date(1999, 12, 31), datetime.datetime(1999, 12, 31, 23)
SIGNED = {8: pl.Int8, 16: pl.Int16, 32: pl.Int32, 64: pl.Int64}
UNSIGNED = {8: pl.UInt8, 16: pl.UInt16, 32: pl.UInt32, 64: pl.UInt64}


def frame() -> pl.DataFrame:
    """Every kind of column that can leave, with missing cells and the values that are easily lost."""
    return pl.DataFrame(
        {
            **{
                f"i{bits}": pl.Series([-(2 ** (bits - 1)), None, 2 ** (bits - 1) - 1], dtype=kind)
                for bits, kind in SIGNED.items()
            },
            **{
                f"u{bits}": pl.Series([0, None, 2**bits - 1], dtype=kind)
                for bits, kind in UNSIGNED.items()
            },
            "float": [-0.0, float("nan"), 1e-300],
            "short float": pl.Series([0.1, None, float("inf")], dtype=pl.Float32),
            "text": ["ä🎉\n", None, ""],
            "class": pl.Series(["b", "a", None], dtype=pl.Enum(["b", "a", "unused"])),
            "truth": [True, None, False],
            "picture": pl.Series(np.arange(12, dtype=np.uint8).reshape(3, 4)),
            "day": [DAY, None, datetime.date(1, 1, 1)],
            **{
                f"time {unit}": pl.Series([NIGHT, None, None], dtype=pl.Datetime(unit))
                for unit in ("ms", "us", "ns")
            },
            "nothing": pl.Series([None] * 3, dtype=pl.Float64),
        }
    )


def test_values_and_types_come_back_to_the_bit() -> None:
    rows = frame()
    back = unpack_rows(pack_rows(rows), tuple(rows.columns), 3)
    assert back.equals(rows.with_columns(pl.col("class").cast(pl.String)), null_equal=True)
    assert back.schema == {**rows.schema, "class": pl.String()}
    assert np.signbit(back["float"][0])
    pictures = pl.DataFrame({"p": pl.Series([[1, 2], None], dtype=pl.Array(pl.UInt8, 2))})
    assert unpack_rows(pack_rows(pictures), ("p",), 2).equals(pictures)


def test_rows_that_shrink_much_are_sent_as_they_are() -> None:
    rows = pl.DataFrame({"a": np.zeros(100_000)})
    assert len(pack_rows(rows)) > 100_000
    assert unpack_rows(pack_rows(rows), ("a",), 100_000).equals(rows)


@pytest.mark.parametrize(
    ("series", "error"),
    [
        (pl.Series("a", [[1]]), r"column 'a' holds List\(Int64\), which cannot be disclosed"),
        (pl.Series("a", [b"x"]), "column 'a' holds Binary, which cannot be disclosed"),
        (pl.Series("a", ["secret " * 300_000]), "column 'a' has a text of 2,100,000 bytes"),
    ],
)
def test_what_cannot_be_packed_is_said_before_anything_leaves(
    series: pl.Series, error: str
) -> None:
    with pytest.raises(DataError, match=error) as refusal:
        pack_rows(series.to_frame())
    assert "secret" not in str(refusal.value)


def message(columns: object, body: bytes) -> bytes:
    head = msgspec.msgpack.encode(columns)
    return struct.pack("<I", len(head)) + head + zlib.compress(body)


@pytest.mark.parametrize("rows", [5, 50_000_000, 2**62])
def test_a_bomb_takes_no_memory(rows: int) -> None:
    bomb = message([("a", "int64", 0, False)], bytes(80_000_000))
    assert len(bomb) < 90_000
    tracemalloc.start()
    with pytest.raises(WireError, match="disclosed rows refused"):
        unpack_rows(bomb, ("a",), rows)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("columns", "body", "words"),
    [
        ([("b", "int8", 0, False)], bytes(2), "column 1 must be 'a', got 'b'"),
        ([], b"", "column 'a' is missing"),
        (
            [("a", "int8", 0, False), ("b", "int8", 0, False)],
            bytes(4),
            "column 2, 'b', was not requested",
        ),
        ([("a", "object", 0, False)], bytes(2), "unknown kind"),
        ([("a", "text", 2**40, False)], bytes(8), "too large cells"),
        ([("a", "picture", 2**40, False)], bytes(8), "too large cells"),
        ([("a", "int8", 0, False)], bytes(3), "the expected 2 bytes"),
        ([("a", "int8", 0, True)], bytes(2), "the expected 3 bytes"),
        ([("a", "bool", 0, False)], b"\0\2", "has booleans other than"),
        ([("a", "date", 0, False)], struct.pack("<ii", 0, 2**31 - 1), "years 1 to 9999"),
        ([("a", "text", 2, False)], struct.pack("<II", 1, 2) + b"xx", "stated lengths"),
        ([("a", "text", 2, False)], struct.pack("<II", 1, 1) + "ä".encode(), "not UTF-8"),
        ([("a", "text", 2, False)], struct.pack("<II", 1, 1) + b"x\xff", "not UTF-8"),
        ({"a": 1}, b"", "header is malformed"),
    ],
)
def test_what_was_not_agreed_on_is_refused(columns: object, body: bytes, words: str) -> None:
    with pytest.raises(WireError, match=words):
        unpack_rows(message(columns, body), ("a",), 2)


def test_a_body_with_something_after_it_is_refused() -> None:
    rows = pl.DataFrame({"a": [1, 2]})
    with pytest.raises(WireError, match="the expected 16 bytes"):
        unpack_rows(pack_rows(rows) + b"more", ("a",), 2)


def test_mutated_messages_are_refused_or_read_and_nothing_else() -> None:
    rows, generator, refused = frame(), np.random.default_rng(5), 0
    good = pack_rows(rows)
    begin = 4 + struct.unpack("<I", good[:4])[0]
    for case in range(3000):
        pieces = [bytearray(good[:begin]), bytearray(zlib.decompress(good[begin:]))]
        if case % 3 == 0:
            pieces = [bytearray(good), bytearray()]
        changed = pieces[1] if case % 3 == 1 else pieces[0]
        for _ in range(generator.integers(1, 4)):
            changed[int(generator.integers(len(changed)))] = int(generator.integers(256))
        try:
            back = unpack_rows(
                bytes(pieces[0]) + (zlib.compress(pieces[1]) if pieces[1] else b""),
                tuple(rows.columns),
                3,
            )
        except WireError:
            refused += 1
        else:
            back.select(pl.all().exclude("picture").cast(pl.String)).to_dicts()
    assert 1000 < refused < 3000


def test_a_column_of_another_kind_is_refused() -> None:
    schema = pl.Schema({"n": pl.Int64(), "t": pl.Enum(["a"]), "p": pl.Array(pl.UInt8, 2)})
    kinds = {"n": [1.5], "t": ["b"], "p": pl.Series([[1, 2]], dtype=pl.Array(pl.UInt8, 2))}
    assert check_kinds(pl.DataFrame(kinds), schema).height == 1
    for other, error in (
        ({"n": ["1"]}, "column 'n' must hold .*, got"),
        ({"t": [1]}, "column 't' must hold .*, got"),
        ({"p": pl.Series([[1]], dtype=pl.Array(pl.UInt8, 1))}, "column 'p' must hold .*, got"),
        ({"n": [float("inf")]}, "column 'n' holds numbers that are not finite"),
    ):
        with pytest.raises(WireError, match=error):
            check_kinds(pl.DataFrame({**kinds, **other}), schema)
