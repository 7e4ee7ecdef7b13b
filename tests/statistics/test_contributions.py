"""A person's contributions have an L2 norm of at most 1, whatever the rows; a mechanism that breaks this
is caught by its outputs.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from tacit.audit.epsilon import lower_bound
from tacit.codecs.distributions.gaussian_noise import STEPS, draw_gaussian
from tacit.plan.tables.statistics.query import parse_query
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.randomness import Draws
from tacit.simulation.fingerprint import _inputs
from tacit.statistics import encode_cells
from tests.statistics.made_up import build_learner, list_contributions, make_table

QUERIES = {
    "people": "count people",
    "rows": "count rows",
    "missing": "missing in income",
    "towns": "count by town among Berlin, Paris",
    "ages": "histogram of age from 0 to 50 in 7 bins",
    "sum": "sum of income from -1 to 5000",
    "mean": "mean of change from -10 to 3",
    "bought": "mean of change",
    "quantiles": "quantiles .1 .5 .9 of income from 0 to 9000",
    "range": "range of income",
    "frequent": "frequent values of town at most 5",
    "words": "frequent words of note",
    "distinct": "distinct words of note above 3",
    "correlation": "correlation of age and change from -1 to 1",
}


def hostile_table() -> pl.DataFrame:
    """Rows that are huge, tiny, infinite, missing, empty, alike, or in other letters."""
    numbers = [1e308, -1e308, math.inf, math.nan, None, 0.0, 1e-300, 5.0, 5.0, 5.0]
    texts = ["", "x" * 5000, "Köln", "\0", None, "a b c d e f g h i j k l m n o p", "Berlin"]
    count = 70
    return pl.DataFrame(
        {
            "person": sorted(place % 9 for place in range(count)),
            **{
                name: [numbers[(place * step) % len(numbers)] for place in range(count)]
                for name, step in (("age", 1), ("income", 3), ("change", 7))
            },
            "town": [texts[place % len(texts)] for place in range(count)],
            "note": [texts[(place * 3) % len(texts)] for place in range(count)],
        },
        strict=False,
    )


@pytest.mark.parametrize("rows_each", [1, 3, 100])
@pytest.mark.parametrize("hostile", [False, True])
def test_norms(rows_each, hostile) -> None:
    table = hostile_table() if hostile else make_table(1, 40, 4)
    learner = build_learner(
        table, QUERIES, stddev=0.01, rows_per_person=rows_each, words_per_person=4
    )
    before = np.zeros(learner.size, np.float32)
    for round_no in (1, 2):
        found = list_contributions(learner, before, round_no)
        assert np.isfinite(found).all()
        assert (np.linalg.norm(found.astype(np.float64), axis=1) <= 1 + 1e-6).all()
        assert np.abs(found).sum() > 0
        before = (before + found.sum(axis=0)).astype(np.float32)


def test_one_by_one_and_together_are_the_same_bits() -> None:
    learner = build_learner(make_table(2, 30, 3), QUERIES, stddev=0.01, rows_per_person=2)
    together = list_contributions(learner, np.zeros(learner.size, np.float32), 1)
    worker = learner.worker()
    from tacit.client import ClientRandomness, ClientSlot

    for place in (0, 7, 29):
        slot = ClientSlot(place, place, ClientRandomness(Draws.seeded(1), place))
        alone = worker.train(np.zeros(learner.size, np.float32), slot, slot.own.train(1), 1).row
        assert np.array_equal(alone, together[place])


def test_nobody_elses_rows_change_a_contribution() -> None:
    table = make_table(3, 20, 2)
    first = list_contributions(
        build_learner(table, QUERIES, stddev=0.01), np.zeros(20000, np.float32), 1
    )
    other = table.with_columns(
        income=pl.when(pl.col("person") == 0).then(1e9).otherwise(pl.col("income")),
        town=pl.when(pl.col("person") == 0).then(pl.lit("z" * 300)).otherwise(pl.col("town")),
    )
    second = list_contributions(
        build_learner(other, QUERIES, stddev=0.01), np.zeros(20000, np.float32), 1
    )
    assert np.array_equal(first[1:], second[1:])
    assert not np.array_equal(first[0], second[0])


EPSILON, DELTA, DRAWS = 1.0, 1e-5, 100_000


def measure_epsilon(contribution: np.ndarray, seed: int) -> float:
    """A lower bound on epsilon from noisy sums with and without a person, along the direction that
    shows the person best; the noise is that of the codec.
    """
    steps = math.floor(STEPS / calibrate_multiplier(EPSILON, DELTA))
    shift = round(float(np.linalg.norm(contribution)) * steps)
    noise = [draw_gaussian(Draws.seeded(seed).at(side), DRAWS) for side in range(2)]
    edges = np.linspace(-3 * STEPS, 3 * STEPS, 13)
    here, there = (
        np.digitize(one + add, edges) for one, add in zip(noise, (shift, 0), strict=True)
    )
    return lower_bound(here, there, delta=DELTA)


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_outputs_stay_within_the_claim(name) -> None:
    """Exact noise on the largest contribution that hostile rows of one person make; the bound exceeds
    a true claim with probability 1e-6.
    """
    learner = build_learner(hostile_table(), {name: QUERIES[name]}, stddev=1.0, rows_per_person=100)
    found = list_contributions(learner, np.zeros(learner.size, np.float32), 1)
    largest = found[np.argmax(np.linalg.norm(found, axis=1))]
    assert measure_epsilon(largest, 5) <= EPSILON


def test_the_broken_twins_are_caught() -> None:
    """Rows that are not bounded per person, words that are not, a value that is not clamped."""
    table = pl.DataFrame({"person": [0] * 8, "age": [40.0] * 8, "note": ["a b c d e f g h"] * 8})
    settings = {"stddev": 1.0, "rows_per_person": 8, "words_per_person": 8}
    twins = {
        "rows": ("count rows", 8.0),
        "ages": ("histogram of age from 0 to 50 in 7 bins", 8.0),
        "words": ("frequent words of note", math.sqrt(8)),
        "sum": ("sum of age from 0 to 10", 4.0 * 8),
    }
    for sentence, factor in twins.values():
        learner = build_learner(table, {"a": sentence}, **settings)
        honest = list_contributions(learner, np.zeros(learner.size, np.float32), 1)[0]
        assert measure_epsilon(honest, 6) <= EPSILON
        assert measure_epsilon(honest * factor, 6) > 1.2 * EPSILON


def test_one_long_text_takes_no_memory_of_other_rows() -> None:
    """Else one person's row would stop the site for all others."""
    table = pl.DataFrame({"note": ["fever", *["a" * 1_000_000], *["cough"] * 500]})
    asked = [parse_query("frequent words of note")]
    assert encode_cells(table, asked).inputs.matrix.nbytes < 100_000


def test_texts_of_any_length_have_one_fingerprint() -> None:
    """A resumed run must find the same rows, and other rows must be noticed."""

    def fingerprint(texts: list[str]) -> list[bytes]:
        asked = [parse_query("frequent words of note")]
        inputs = encode_cells(pl.DataFrame({"note": texts}), asked).inputs
        return [np.ascontiguousarray(array).tobytes() for _, array in _inputs("rows", inputs)]

    assert fingerprint(["fever", "cough"]) == fingerprint(["fe" + "ver", "cough"])
    assert fingerprint(["fever", "cough"]) != fingerprint(["fevercoug", "h"])
