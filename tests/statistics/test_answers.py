"""Answers without noise are those of the table; intervals contain them at the stated rate."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from tests.statistics.made_up import TOWNS, WORDS, answer, build_learner, make_table

QUERIES = {
    "people": "count people",
    "missing": "missing in income",
    "towns": "count by town among Berlin, Paris",
    "ages": "histogram of age from 0 to 100 in 10 bins",
    "sum": "sum of change from -100 to 100",
    "mean": "mean of income from 0 to 60000",
    "bought": "mean of change",
    "quartiles": "quantiles .25 .5 .75 of income from 0 to 40000",
    "range": "median of change",
    "frequent": "frequent values of town",
    "words": "frequent words of note",
    "distinct": "distinct values of town above 20",
    "correlation": "correlation of age from 0 to 100 and change from -150 to 150",
}


def test_without_noise_answers_are_exact() -> None:
    table = make_table(4, 600)
    found = answer(build_learner(table, QUERIES, stddev=1e-3))
    known = table["income"].drop_nulls()
    counts = dict(table["town"].value_counts().iter_rows())
    expected = {
        ("people", "people"): 600,
        ("missing", "rows without a number"): table["income"].null_count(),
        ("towns", "Berlin"): counts.get("Berlin", 0),
        ("ages", "20 to 30"): table.filter(pl.col("age").is_between(20, 30, closed="left")).height,
        ("sum", "sum"): table["change"].clip(-100, 100).sum(),
        ("mean", "mean"): known.clip(0, 60000).mean(),
        ("mean", "rows"): len(known),
        ("distinct", "distinct values above 20"): sum(count > 20 for count in counts.values()),
        ("correlation", "correlation"): np.corrcoef(table["age"], table["change"])[0, 1],
    }
    for (name, label), value in expected.items():
        assert found[name][label][0] == pytest.approx(value, rel=1e-4, abs=1e-3), (name, label)
    assert found["bought"]["mean"][0] == pytest.approx(table["change"].mean(), abs=1.0)
    for point in (0.25, 0.5, 0.75):
        label = "median" if point == 0.5 else f"quantile {point:g}"
        _, low, high = found["quartiles"][label]
        assert low <= np.quantile(known, point, method="inverted_cdf") <= high
    assert {label: round(value[0]) for label, value in found["frequent"].items()} == counts
    words = pl.Series([word for note in table["note"] for word in note.split()]).value_counts()
    named = {label: round(value[0]) for label, value in found["words"].items()}
    assert named == dict(words.iter_rows())
    assert set(named) == set(WORDS)
    assert set(found["frequent"]) <= set(TOWNS)


def test_intervals_contain_the_exact_figures_at_the_stated_rate() -> None:
    """6 tables, all figures together; fails by chance with probability below 1e-6."""
    random = np.random.default_rng(7)
    hits, trials = 0, 0
    for seed in range(6):
        table = make_table(100 + seed, 800)
        queries = {name: text for name, text in QUERIES.items() if name not in ("bought", "range")}
        exact = answer(build_learner(table, queries, stddev=1e-9, confidence=0.9))
        noisy = answer(build_learner(table, queries, stddev=1.5, confidence=0.9), random)
        for name, figures in noisy.items():
            for label, (_, low, high) in figures.items():
                if label in exact[name]:
                    hits += low <= exact[name][label][0] <= high
                    trials += 1
    assert trials > 200
    assert binom.cdf(hits, trials, 0.9) > 1e-6, (hits, trials)


def test_noise_that_hides_everything_is_said() -> None:
    table = make_table(5, 12)
    found = answer(build_learner(table, QUERIES, stddev=50.0), np.random.default_rng(1))
    assert found["bought"] == {"not found": (None, None, None)}
    assert found["frequent"] == {}


def test_rows_of_a_person_are_bounded_and_drawn_at_random() -> None:
    table = make_table(6, 300, 5)
    counted = answer(build_learner(table, {"rows": "count rows"}, stddev=1e-9, rows_per_person=2))
    assert counted["rows"]["rows"][0] == pytest.approx(600, abs=1e-3)
    first = table.group_by("person", maintain_order=True).first()["age"].mean()
    mean = answer(build_learner(table, {"m": "mean of age from 0 to 100"}, stddev=1e-9))["m"][
        "mean"
    ][0]
    assert mean != pytest.approx(first, abs=1e-6)  # not the first row of each person


def distinct_of(
    sizes: list[int], sentence: str, stddev: float, draws: int
) -> list[tuple[float, float]]:
    """Intervals of a number of different values, of which some have these numbers of rows."""
    cells = [f"value {number}" for number, size in enumerate(sizes) for _ in range(size)]
    table = pl.DataFrame({"person": range(len(cells)), "town": cells})
    learner, random = build_learner(table, {"d": sentence}, stddev=stddev), np.random.default_rng(3)
    found = [next(iter(answer(learner, random)["d"].values())) for _ in range(draws)]
    return [(low, high) for _, low, high in found]


@pytest.mark.parametrize(
    ("sizes", "above", "stddev"),
    [
        ([60] * 150, 20, 2.0),  # several values in one bucket
        ([8] * 200, 3, 5.0),  # noise hides all of them
        ([30] * 300, 10, 1.0),  # more than the buckets that are read
        ([1] * 1000 + [50] * 20, 20, 2.0),
    ],
)
def test_intervals_of_distinct_values_cover_what_is_not_seen(sizes, above, stddev) -> None:
    """Each fails by chance with a probability below 5 %, and the seed is fixed."""
    exact = sum(size > above for size in sizes)
    for low, high in distinct_of(sizes, f"distinct values of town above {above}", stddev, 3):
        assert low <= exact <= high


def test_an_interval_of_distinct_values_is_narrow_where_noise_is_small() -> None:
    sizes = [100] * 20 + [5] * 20
    ((low, high),) = distinct_of(sizes, "distinct values of town above 30", 1.0, 1)
    assert low == 20 <= high <= 23


def test_the_interval_of_a_mean_at_the_end_of_its_range_is_not_turned_round() -> None:
    table = pl.DataFrame({"person": range(400), "age": [50.0] * 400})
    learner = build_learner(table, {"m": "mean of age from 0 to 50"}, stddev=5.0)
    random = np.random.default_rng(1)
    for _ in range(60):
        value, low, high = answer(learner, random)["m"]["mean"]
        assert low <= value <= high
