"""Merged column statistics are those of all rows, in whatever order sites are merged."""

from itertools import permutations

import pytest

from tacit.column_statistics.number_format import NumberFormat
from tacit.column_statistics.statistics import ColumnStatistics, merge_statistics
from tacit.errors import DataError

PARTS = [
    ColumnStatistics(
        classes=("2", "10"),
        ranges={"age": (20.0, 30.0)},
        categories={"ward": ("a", "c")},
        missing=("pay", "age"),
        formats={"age": NumberFormat(comma=True, unclear=True)},
    ),
    ColumnStatistics(
        classes=("1", "2"),
        ranges={"age": (-1.0, 25.0)},
        categories={"ward": ("b",)},
        formats={"age": NumberFormat()},
    ),
    ColumnStatistics(classes=("2",), ranges={"age": (0.0, 40.0)}, categories={"ward": ()}),
]


def test_a_merge_covers_all_rows_in_any_order() -> None:
    expected = ColumnStatistics(
        classes=("1", "2", "10"),
        ranges={"age": (-1.0, 40.0)},
        categories={"ward": ("a", "b", "c")},
        missing=("age", "pay"),
        formats={"age": NumberFormat(comma=True, unclear=True)},
    )
    assert all(merge_statistics(parts) == expected for parts in permutations(PARTS))
    first, second, third = PARTS
    assert merge_statistics([merge_statistics([first, second]), third]) == expected
    assert merge_statistics([expected]) == expected, "a simulation merges one"


def test_images_of_two_sizes_are_refused() -> None:
    sizes = [
        ColumnStatistics(classes=("a",), ranges={}, categories={}, pixels=size)
        for size in (784, 3072)
    ]
    with pytest.raises(DataError, match="images must have one size at all sites, got 2 sizes"):
        merge_statistics(sizes)
