"""Counts of classes that add up over parties: exact, or a class counts as empty; never more than there is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tacit.data import Table
from tacit.data.k_anonymity import count_classes, decide_release
from tacit.data.k_anonymity.class_sums import (
    ClassCounting,
    ClassSums,
    choose_counting,
    describe_classes,
)
from tacit.data.k_anonymity.classes import group_equal_rows
from tacit.errors import WireError
from tacit.plan import Columns, RowSharing
from tacit.randomness import Draws
from tacit.rows import Clients

COUNTING = ClassCounting(cells=512, labels=2, salt=b"salt")
ROOT = Draws.seeded(1)


def keys(count: int, start: int = 0) -> list[bytes]:
    return [f"class {start + number}".encode() for number in range(count)]


def add(*parties: tuple[list[bytes], np.ndarray], counting: ClassCounting = COUNTING) -> ClassSums:
    first, *others = (counting.count(names, numbers) for names, numbers in parties)
    for other in others:
        first = first + other
    return first


def test_counts_of_several_parties_add_up() -> None:
    random = np.random.default_rng(0)
    numbers = [random.integers(0, 50, (100, 2)) for _ in range(3)]
    sums = add(*((keys(100), one) for one in numbers))
    np.testing.assert_array_equal(sums.find_counts(keys(100)), np.sum(numbers, axis=0))
    assert not sums.find_counts(keys(50, start=1000)).any(), "classes that nobody has"


def test_a_class_whose_cells_are_shared_counts_as_empty() -> None:
    """Many more classes than cells: what is read is exact, what is not read is zero."""
    small = ClassCounting(cells=128, labels=1, salt=b"s")
    numbers = np.arange(1, 201)[:, None]
    found = small.count(keys(200), numbers).find_counts(keys(200))
    assert set(np.unique(found - numbers)) <= {0, *(-numbers.ravel()).tolist()}
    assert 0 < (found == numbers).sum() < 200


@pytest.mark.parametrize("rule", ["k_anonymity", "label_k", "distinct_l", "entropy_l"])
def test_decisions_are_those_of_all_rows_in_one_place(rule: str) -> None:
    random, rows = np.random.default_rng(3), 900
    frame = pl.DataFrame(
        {
            "age": random.integers(20, 40, rows),
            "town": random.choice(["a", "b", None], rows, p=[0.5, 0.4, 0.1]),
            "label": pl.Series(
                random.choice(["no", "yes"], rows, p=[0.9, 0.1]), dtype=pl.Enum(["no", "yes"])
            ),
        }
    )
    columns = Columns(numeric=("age",), categorical=("town",), label="label", quasi=("age", "town"))
    least = {"l": 2} if rule == "distinct_l" else {"l": 1.2} if rule == "entropy_l" else {}
    settings = RowSharing(rule=rule, k=20, counts="global", **least)  # type: ignore[arg-type]
    table = Table(train=frame, test=frame.clear(), columns=columns, source="")
    parts = [np.arange(rows)[number::3] for number in range(3)]
    everybody = Clients(order=np.arange(rows), starts=np.array([0, rows]))
    together = decide_release(table, everybody, settings, ROOT)
    # Counted without sums, as one party that sees every row.
    classes = group_equal_rows(
        frame.select("age", "town", *(["label"] if rule == "label_k" else []))
    )
    assert together.disclosed.any()
    assert not together.disclosed.all()
    assert (classes.spread(classes.counts())[together.disclosed] >= 20).all()
    sites = [Clients(order=part, starts=np.array([0, len(part)])) for part in parts]
    first, *others = (count_classes(table, site, settings, rows, b"p") for site in sites)
    sums = first
    for other in others:
        sums = sums + other
    for site, part in zip(sites, parts, strict=True):
        alone = decide_release(table, site, settings, ROOT, sums)
        np.testing.assert_array_equal(alone.disclosed, together.disclosed[part])


def test_equal_values_of_other_types_are_one_class() -> None:
    """A site with one missing age reads all ages as decimals."""
    whole = pl.DataFrame({"age": [30, 31], "is_old": [True, False]})
    decimal = pl.DataFrame({"age": [30.0, 31.0, 30.5, None], "is_old": [True, False, True, True]})
    _, one = describe_classes(group_equal_rows(whole), whole, None)
    _, other = describe_classes(group_equal_rows(decimal), decimal, None)
    assert set(one) < set(other)
    assert len({*other}) == 4
    text = pl.DataFrame({"age": ["30", "-"], "is_old": [True, False]})
    assert not {*describe_classes(group_equal_rows(text), text, None)[1]} & {*other}


def test_impossible_sums_are_refused() -> None:
    own = add((keys(3), np.array([[1, 0], [2, 1], [0, 4]])))
    honest = own + add((keys(3), np.array([[5, 5], [0, 0], [1, 1]])))
    honest.check(own, rows=20)
    with pytest.raises(WireError, match="add up to at most 19 rows"):
        honest.check(own, rows=19)
    with pytest.raises(WireError, match="fewer rows at all sites than at this one"):
        add((keys(3), np.array([[1, 0], [1, 1], [0, 4]]))).check(own, rows=20)
    negative = ClassSums(counting=COUNTING, numbers=own.numbers - np.uint64(1))
    with pytest.raises(WireError, match="more than the 20 rows"):
        negative.check(own, rows=20)


def test_a_party_that_claims_any_number_of_rows_makes_no_vector_too_large() -> None:
    for labels, rows in ((2, 2**53), (10_000, 2**60), (2, 0)):
        settings = RowSharing(rule="distinct_l", l=2, k=5, counts="global")
        counting = choose_counting(settings, rows, [str(label) for label in range(labels)], b"")
        assert 8 * counting.size <= 1 << 26
