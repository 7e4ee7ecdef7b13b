"""Repeated releases: what subtraction shows, by hand and against a count that goes row by row."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data.k_anonymity.classes import Classes
from tacit_papers.partfed.growing import Differences, compare_releases


def _classes(numbers: list[int]) -> Classes:
    return Classes(of_row=np.array(numbers, np.uint32), cells=max(numbers, default=0) + 1)


def test_one_who_comes_after_the_class_was_shared_stands_alone() -> None:
    classes, labels, arrived = (
        _classes([0, 0, 0, 0, 1]),
        np.array([0, 1, 0, 1, 1]),
        np.array([0, 0, 0, 1, 1]),
    )
    found = compare_releases(classes, labels, arrived, 3, "whole_class")
    assert found == Differences(rows=5, shared=4, few=1, alone=1, few_one_label=1)
    assert compare_releases(classes, labels, arrived, 3, "newcomers") == Differences(
        rows=5, shared=3, few=0, alone=0, few_one_label=0
    )


def test_a_late_group_of_two_labels_gives_none_away() -> None:
    found = compare_releases(
        _classes([0] * 5), np.array([0, 0, 0, 0, 1]), np.array([0, 0, 0, 1, 1]), 3, "whole_class"
    )
    assert found == Differences(rows=5, shared=5, few=2, alone=0, few_one_label=0)


def test_rows_wait_until_enough_came() -> None:
    found = compare_releases(_classes([0] * 6), np.zeros(6, np.int64), np.arange(6), 3, "newcomers")
    assert found == Differences(rows=6, shared=6, few=0, alone=0, few_one_label=0)


def test_no_rows() -> None:
    none = np.zeros(0, np.int64)
    assert compare_releases(_classes([]), none, none, 3, "whole_class").shared == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=60
    ),
    st.integers(1, 5),
)
@pytest.mark.parametrize("again", ["whole_class", "newcomers"])
def test_by_a_count_row_by_row(again, rows, k) -> None:
    numbers, labels, arrived = (list(column) for column in zip(*rows, strict=True))
    found = compare_releases(_classes(numbers), np.array(labels), np.array(arrived), k, again)
    left: dict[int, int] = {}
    for release in range(max(arrived) + 1):
        there = [
            row
            for row in range(len(rows))
            if arrived[row] <= release and (again == "whole_class" or row not in left)
        ]
        counts = Counter(numbers[row] for row in there)
        left |= {row: release for row in there if row not in left and counts[numbers[row]] >= k}
    groups = Counter((numbers[row], release) for row, release in left.items())
    few = [row for row, release in left.items() if groups[numbers[row], release] < k]
    kinds = {
        key: {labels[row] for row, at in left.items() if (numbers[row], at) == key}
        for key in groups
    }
    assert found == Differences(
        rows=len(rows),
        shared=len(left),
        few=len(few),
        alone=sum(size == 1 for size in groups.values()),
        few_one_label=sum(len(kinds[numbers[row], left[row]]) == 1 for row in few),
    )
    if again == "newcomers":
        assert found.few == 0
