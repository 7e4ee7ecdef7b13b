"""Share or keep on ten million rows, against the bare polars group-by on the same columns."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from bench.clock import Taken, measure
from bench.compare import Result, interleave, seconds

ROWS = 10_000_000
K = 100


def table(rows: int = ROWS) -> pl.DataFrame:
    """Made-up people: age, race and sex as in a census, and a town of 90,000 that
    few share.
    """
    random = np.random.default_rng(0)
    race, sex = (pl.Series(names, dtype=pl.Enum(names)) for names in (list("abcde"), list("fm")))
    return pl.DataFrame(
        {
            "age": random.normal(40, 14, rows).clip(17, 90).astype(np.int32),
            "race": race.gather(random.choice(5, rows, p=[0.01, 0.03, 0.1, 0.01, 0.85])),
            "sex": sex.gather(random.integers(0, 2, rows)),
            "town": random.integers(10_000, 100_000, rows).astype(np.int32),
        }
    )


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Time to say of every row whether it may be shared, next to the time to count the
    classes at all.
    """
    people = table()
    results = []
    for figure, key in (
        ("age, race, sex", ["age", "race", "sex"]),
        ("age, town, sex", ["age", "town", "sex"]),
    ):
        rows = people.select(key)
        _check(rows)
        pair = interleave(partial(_ours, rows), partial(_theirs, rows), repeats)
        results += seconds(
            f"share or keep, 10 million rows by {figure}",
            "polars group-by, counts only",
            pair,
            repeats=repeats,
            wall_bar=1.5,
        )
    return results


def _ours(rows: pl.DataFrame) -> Taken:
    return measure(lambda: shareable(rows))


def _theirs(rows: pl.DataFrame) -> Taken:
    # The lazy form is polars' fastest; its eager group_by takes about three times as long.
    return measure(lambda: rows.lazy().group_by(rows.columns).agg(pl.len()).collect())


def shareable(rows: pl.DataFrame) -> np.ndarray:
    """Return for each row whether at least K rows look like it."""
    from tacit.data.k_anonymity.classes import group_equal_rows

    classes = group_equal_rows(rows)
    return classes.spread(classes.counts() >= K)


def _check(rows: pl.DataFrame) -> None:
    """Both sides must mean the same; this also compiles what is compiled."""
    counted = rows.lazy().group_by(rows.columns).agg(pl.len()).collect()
    expected = counted.filter(pl.col("len") >= K)["len"].sum()
    if int(shareable(rows).sum()) != expected:
        raise AssertionError(
            f"share or keep says {shareable(rows).sum():,} rows, polars {expected:,}"
        )
