"""Counts of equivalence classes over several parties' rows, as one vector of integers that add up.

The parties do not know each other's classes, so a class is counted at addresses that follow from
its values: in one cell of each of eight tables, with its rows per label and its rows times a
128-bit fingerprint of the class. In a sum of such vectors a cell belongs to one class alone exactly
if the fingerprints add up to rows times that class's fingerprint. Only such cells are read. A class
that shares its cells with others in all tables counts as empty, so a collision can keep rows back
but never release them. With twelve rows per class on average that happens to three in ten million.

Guarantees: a count that is read is the class's exact sum, except with a probability of about
2^-100 per class, if all parties count as this module does. The addresses need no list of classes,
and the vector has the same size at every party, whatever its rows.

Source: the cells are those of an invertible Bloom lookup table, Goodrich and Mitzenmacher 2011.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.k_anonymity.classes import Classes
from tacit.errors import WireError
from tacit.plan import RowSharing

Numbers = NDArray[np.uint64]
_TABLES, _WORDS = 8, 2
_FEWEST_CELLS, _MOST_BYTES = 1 << 9, 1 << 26
_EXACT = 2.0**53


@dataclass(frozen=True, kw_only=True)
class ClassCounting:
    """How classes are counted: cells of a table, labels that are told apart, and the salt of the
    addresses. All parties of a run use the same.
    """

    cells: int
    labels: int
    salt: bytes

    @property
    def size(self) -> int:
        """Numbers of one vector."""
        return _TABLES * self.cells * (self.labels + _WORDS)

    def count(self, keys: Sequence[bytes], by_label: NDArray[np.int64]) -> ClassSums:
        """Count classes with these keys; `by_label` has a row per class and a column per label."""
        counts = by_label.astype(np.uint64)
        places, prints = self._address(keys)
        rows = np.concatenate([counts, prints * counts.sum(axis=1, dtype=np.uint64)[:, None]], 1)
        tables = np.zeros((_TABLES, self.cells, self.labels + _WORDS), np.uint64)
        for table, place in zip(tables, places.T, strict=True):
            np.add.at(table, place, rows)
        return ClassSums(counting=self, numbers=tables.ravel())

    def _address(self, keys: Sequence[bytes]) -> tuple[NDArray[np.int64], Numbers]:
        """The cell of each class in each table, and its fingerprint."""
        salt = hashlib.sha256(self.salt).digest()
        hashed = b"".join(
            hashlib.blake2b(key, digest_size=4 * _TABLES + 8 * _WORDS, key=salt).digest()
            for key in keys
        )
        bytes_of = np.frombuffer(hashed, np.uint8).reshape(len(keys), 4 * _TABLES + 8 * _WORDS)
        places = bytes_of[:, : 4 * _TABLES].copy().view("<u4") % np.uint32(self.cells)
        return places.astype(np.int64), bytes_of[:, 4 * _TABLES :].copy().view("<u8") | np.uint64(1)


@dataclass(frozen=True, kw_only=True)
class ClassSums:
    """Counts of classes: those of one party, or a sum over several."""

    counting: ClassCounting
    numbers: Numbers

    def __add__(self, other: ClassSums) -> ClassSums:
        """Add the counts of another party."""
        return ClassSums(counting=self.counting, numbers=self.numbers + other.numbers)

    def find_counts(self, keys: Sequence[bytes]) -> NDArray[np.int64]:
        """Rows of each class (row) by label (column); zeros for a class whose cells are all shared."""
        found = np.zeros((len(keys), self.counting.labels), np.int64)
        unread = np.ones(len(keys), np.bool_)
        places, prints = self.counting._address(keys)
        for table, place in zip(self._tables(), places.T, strict=True):
            cells = table[place]
            counts = cells[:, : self.counting.labels]
            expected = prints * counts.sum(axis=1, dtype=np.uint64)[:, None]
            is_alone = unread & (cells[:, self.counting.labels :] == expected).all(axis=1)
            found[is_alone] = counts[is_alone].astype(np.int64)
            unread &= ~is_alone
        return found

    def count_labels(self) -> NDArray[np.int64]:
        """Rows of each label in all classes of all parties."""
        first = self._tables()[0, :, : self.counting.labels]
        return np.asarray(first.sum(axis=0, dtype=np.uint64).astype(np.int64))

    def check(self, own: ClassSums, rows: int) -> None:
        """Raise WireError unless a sum can be that of honest parties: no cell below the `own`
        counts in it, at most `rows` rows in all, and as many of each label in every table.
        """
        labels = self.counting.labels
        counts, ours = (one._tables()[:, :, :labels] for one in (self, own))
        if (counts > rows).any():
            raise WireError(
                f"class counts refused: a class would have more than the {rows:,} rows of all"
                " sites; a site or helper sent counts that cannot be"
            )
        if (counts < ours).any():
            raise WireError(
                "class counts refused: a class would have fewer rows at all sites than at this one;"
                " a site or helper sent counts that cannot be"
            )
        totals = counts.sum(axis=1, dtype=np.float64)  # no sum of counts up to 2^53 overflows
        if (totals != totals[0]).any() or totals[0].sum() > rows:
            raise WireError(
                f"class counts refused: they do not add up to at most {rows:,} rows, as many as all"
                " sites have; a site or helper sent counts that cannot be"
            )

    def _tables(self) -> Numbers:
        counting = self.counting
        return self.numbers.reshape(_TABLES, counting.cells, counting.labels + _WORDS)


def choose_counting(
    settings: RowSharing, rows: int, labels: Sequence[str], salt: bytes
) -> ClassCounting:
    """Choose how the classes among `rows` rows of all parties are counted, from public facts.

    A rule that needs no labels counts none. A vector has at most 64 MiB, whatever number of rows a
    party claims.
    """
    counted = len(labels) if settings.counts_labels else 1
    wanted = max(_FEWEST_CELLS, 1 << max(0, rows // 2 - 1).bit_length())
    most = 1 << (_MOST_BYTES // (8 * _TABLES * (counted + _WORDS))).bit_length() - 1
    return ClassCounting(cells=min(wanted, most), labels=counted, salt=salt)


def describe_classes(
    classes: Classes, key: pl.DataFrame, label: pl.Series | None
) -> tuple[NDArray[np.int64], list[bytes]]:
    """The numbers of the classes that have rows, and the same bytes for equal classes of any party.

    With `label` the classes of one key differ by label. An integer and the same number as a
    decimal are equal, a missing cell equals a missing cell only.
    """
    first = classes.first_rows()
    used = np.flatnonzero(first >= 0)
    shown = key if label is None else key.with_columns(label.alias(_free_name(key)))
    columns = [_describe_cells(series.gather(first[used])) for series in shown]
    return used, [b"".join(row) for row in zip(*columns, strict=True)] or [b""] * len(used)


def _free_name(key: pl.DataFrame) -> str:
    return "".join(key.columns) + " label"


def _describe_cells(series: pl.Series) -> list[bytes]:
    if series.dtype.is_float():
        return [_describe_number(value) for value in series.to_list()]
    texts = (
        series.cast(pl.Int8).cast(pl.String)
        if series.dtype == pl.Boolean
        else series.cast(pl.String)
    )
    kind = b"n" if series.dtype.is_numeric() or series.dtype == pl.Boolean else b"t"
    return [_frame(None if text is None else text.encode(), kind) for text in texts.to_list()]


def _describe_number(value: float | None) -> bytes:
    if value is None:
        return _frame(None, b"n")
    if math.isfinite(value) and value == int(value) and abs(value) < _EXACT:
        return _frame(str(int(value)).encode(), b"n")
    return _frame(repr(value).encode(), b"n")


def _frame(text: bytes | None, kind: bytes) -> bytes:
    return b"-" if text is None else kind + len(text).to_bytes(8, "little") + text
