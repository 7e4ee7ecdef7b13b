"""What a site tells of its rows before round one: only what enough clients stand behind, and the owner reads the same."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tacit.column_statistics.number_format import NumberFormat
from tacit.column_statistics.rounded_range import _find_step
from tacit.column_statistics.statistics import ColumnStatistics
from tacit.data import Habits
from tacit.deployment.site.rows.disclosed_statistics import (
    _clients_without,
    build_disclosure_entry,
    compute_disclosed_statistics,
    describe_disclosure,
    list_common_values,
    select_disclosed_formats,
)
from tacit.errors import PolicyError
from tacit.plan import Columns
from tacit.privacy.policy import Limits, Policy
from tests.deployment.agreements import opened_by, plan_of

COLUMNS = Columns(client="patient", numeric=("age",), categorical=("ward",), label="outcome")
POLICY = Policy(limits=Limits(min_clients_per_value=3, max_values_per_column=5))


def frame_of(**changes: Any) -> pl.DataFrame:
    """Six patients with two rows each."""
    given = {
        "patient": [f"p{row // 2}" for row in range(12)], "age": [20.0 + row for row in range(12)],
        "ward": ["a"] * 6 + ["b"] * 6, "outcome": ["yes", "no"] * 6,
    }  # fmt: skip
    return pl.DataFrame({**given, **changes})


def rows_of(
    train: pl.DataFrame,
    test: pl.DataFrame | None = None,
    columns: Columns = COLUMNS,
    habits: Habits | None = None,
) -> Any:
    test = train.clear() if test is None else test
    table = SimpleNamespace(train=train, test=test, columns=columns, habits=habits or Habits())
    return SimpleNamespace(
        table=table, owners=["p"] * 6, clients=SimpleNamespace(order=range(1200)), left_out=["1,000 rows are left out"]
    )  # fmt: skip


def plan(**features: Any) -> Any:
    columns = {"client": "patient", "numeric": ["age"], "categorical": ["ward"], "label": "outcome"}
    return plan_of(data={"source": "visits.csv", "columns": columns}, features=features)


def test_values_of_enough_clients() -> None:
    few = Limits(min_clients_per_value=3, max_values_per_column=2)
    frame = frame_of(ward=["a"] * 6 + ["b"] * 4 + ["c"] * 2)
    assert list_common_values(frame, "ward", "patient", few, "label") == ["a"]
    assert list_common_values(frame, "ward", None, few, "label") == ["a", "b"]
    assert list_common_values(
        frame.with_columns(ward=pl.lit(7)), "ward", "patient", few, "label"
    ) == ["7"]
    assert list_common_values(frame, "patient", None, Limits(min_clients_per_value=2), "label") == [
        f"p{number}" for number in range(6)
    ]
    assert list_common_values(
        frame.with_columns(ward=pl.when(pl.col("ward") == "a").then(pl.col("ward"))),
        "ward",
        None,
        few,
        "x",
    ) == ["a"]
    assert (
        len(
            list_common_values(
                frame, "patient", "patient", Limits(min_clients_per_value=1), "label"
            )
        )
        == 6
    )
    with pytest.raises(PolicyError) as error:
        list_common_values(frame, "ward", "patient", Limits(min_clients_per_value=4), "label")
    assert (
        str(error.value)
        == "limits.min_clients_per_value = 4: most rows have a value of 'ward' that fewer clients"
        " share, so it cannot be used as label"
    )
    with pytest.raises(PolicyError) as error:
        list_common_values(frame, "patient", None, Limits(min_clients_per_value=3), "categorical")
    assert str(error.value).endswith("that fewer rows share, so it cannot be used as categorical")
    with pytest.raises(PolicyError) as error:
        list_common_values(
            frame, "ward", None, Limits(min_clients_per_value=2, max_values_per_column=2), "label"
        )
    assert (
        str(error.value)
        == "limits.max_values_per_column = 2: 'ward' has more values, so it cannot be used as label"
    )


def test_half_of_the_rows_must_have_common_values() -> None:
    half = frame_of(ward=["a"] * 6 + [f"w{row}" for row in range(6)])
    assert list_common_values(
        half, "ward", "patient", Limits(min_clients_per_value=3), "label"
    ) == ["a"]
    with pytest.raises(PolicyError, match="most rows"):
        list_common_values(
            half.vstack(half[-1:]), "ward", "patient", Limits(min_clients_per_value=3), "label"
        )


def test_what_is_told() -> None:
    seen = compute_disclosed_statistics(plan(), rows_of(frame_of()), POLICY)
    assert (seen.classes, seen.categories) == (("no", "yes"), {"ward": ("a", "b")})
    assert seen.ranges == {"age": (24.0, 27.0)}
    assert (seen.missing, seen.formats) == ((), {})
    exact = replace(POLICY, allow=replace(POLICY.allow, disclosures=("exact_ranges",)))
    assert compute_disclosed_statistics(plan(), rows_of(frame_of()), exact).ranges == {
        "age": (20.0, 31.0)
    }


def test_rare_categories_count_as_unknown_with_test_rows_counted() -> None:
    train = frame_of(ward=["a"] * 8 + ["b"] * 4)
    assert compute_disclosed_statistics(plan(), rows_of(train), POLICY).categories == {
        "ward": ("a",)
    }
    with pytest.raises(PolicyError, match=r"so it cannot be used as categorical$"):
        compute_disclosed_statistics(plan(), rows_of(frame_of(ward=list("abcdefghijkl"))), POLICY)
    third = frame_of()[:2].with_columns(patient=pl.lit("p9"), ward=pl.lit("b"))
    assert compute_disclosed_statistics(plan(), rows_of(train, third), POLICY).categories == {
        "ward": ("a", "b")
    }


def test_that_numbers_are_missing_is_told_where_enough_clients_lack_one() -> None:
    def lacking(rows: int) -> pl.DataFrame:
        return frame_of(age=[None] * rows + [20.0 + row for row in range(rows, 12)])

    assert (
        compute_disclosed_statistics(
            plan(ranges={"age": [0, 99]}), rows_of(lacking(4)), POLICY
        ).missing
        == ()
    )
    assert compute_disclosed_statistics(
        plan(ranges={"age": [0, 99]}), rows_of(lacking(6)), POLICY
    ).missing == ("age",)
    assert (
        _clients_without(lacking(4), "age", "patient"),
        _clients_without(lacking(4), "age", None),
    ) == (2, 4)


def told_by(clients: int) -> Limits:
    return Limits(min_clients_per_value=clients)


def test_how_numbers_are_written_is_told_where_enough_clients_show_it() -> None:
    habits = Habits(
        formats={"age": NumberFormat(True, True), "pay": NumberFormat(True, True)},
        behind={"age": (3, 2)},
    )
    assert select_disclosed_formats(plan(), habits, told_by(3)) == {
        "age": NumberFormat(True, False),
        "pay": NumberFormat(False, False),
    }
    assert select_disclosed_formats(plan(), habits, told_by(2))["age"] == NumberFormat(True, True)
    assert select_disclosed_formats(plan(), habits, told_by(1))["pay"] == NumberFormat(
        False, False
    ), "nobody's cells show it"
    unclear = Habits(formats={"age": NumberFormat(False, True)}, behind={"age": (9, 9)})
    assert select_disclosed_formats(plan(), unclear, told_by(3)) == {
        "age": NumberFormat(False, True)
    }
    rows = rows_of(frame_of(), habits=habits)
    assert compute_disclosed_statistics(plan(), rows, POLICY).formats == select_disclosed_formats(
        plan(), habits, told_by(3)
    )
    agreed = plan_of(
        data={
            "source": "visits.csv",
            "decimal": "point",
            "columns": {"numeric": ["age"], "label": "outcome"},
        },
        features={},
    )
    assert (
        compute_disclosed_statistics(agreed, rows_of(frame_of(), habits=habits), POLICY).formats
        == {}
    )


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0.0, 10.0, 1.0), (0.0, 11.0, 2.0), (0.0, 20.0, 2.0), (0.0, 21.0, 5.0), (0.0, 51.0, 10.0), (37.0, 37.0, 5.0),
     (-90.0, -90.0, 10.0), (0.0, 0.0, 0.0), (0.0, 0.001, 0.0001)],
)  # fmt: skip
def test_steps(low: float, high: float, step: float) -> None:
    assert _find_step(low, high) == pytest.approx(step)


def test_the_owners_ledger_has_what_is_told() -> None:
    assert build_disclosure_entry(opened_by("a"), plan_of()) == {
        "clients": 10, "rows": 100, "test_rows": 20, "largest_weight": 7,
        "seen": {"classes": ["no", "yes"], "ranges": {}, "categories": {}, "pixels": None, "missing": [], "formats": {}, "encoder": ""},
    }  # fmt: skip


def test_the_owners_log_says_it_in_words() -> None:
    seen = ColumnStatistics(
        classes=("no", "yes"), ranges={"age": (20.0, 99.5)}, categories={"ward": ("a",) * 1234}, missing=("age",),
        formats={"age": NumberFormat(comma=True)},
    )  # fmt: skip
    said = (
        "tells the server: 6 clients, 1,200 rows, 2 classes of 'outcome', 1,234 categories of"
        " 'ward', the rounded range 20 to 99.5 of 'age', that numbers are missing in 'age', that"
        " 'age' is written with a decimal comma; each class and category is that of at least 3"
        " clients"
    )
    assert describe_disclosure(rows_of(frame_of()), seen, POLICY) == [
        said,
        "1,000 rows are left out",
    ]
    exact = replace(POLICY, allow=replace(POLICY.allow, disclosures=("exact_ranges",)))
    rows = rows_of(frame_of(), columns=Columns(numeric=("age",), label="outcome"))
    assert describe_disclosure(rows, seen, exact)[0] == said.replace("rounded", "exact").replace(
        "least 3 clients", "least 3 rows"
    )
