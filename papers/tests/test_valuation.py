"""Values of clients: each way agrees with its definition, and all of them find the clients whose labels are wrong."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tacit.errors import DataError
from tacit.randomness import Draws
from tacit_papers.lazyinf.valuation import (
    LabelledRows,
    ValuationProblem,
    compare_values,
    fit,
    influence,
    leave_one_out,
    loss,
    pool_rows,
    rank_correlation,
    score_by_votes,
    shapley,
)  # fmt: skip
from tests import seeds

TRUTH = np.array([1.5, -1.0, 0.8, 0.5, -0.3, 0.2])


def drawn(random: np.random.Generator, count: int, wrong: float = 0.0) -> LabelledRows:
    inputs = np.hstack([random.normal(size=(count, len(TRUTH) - 1)), np.ones((count, 1))])
    labels = (random.random(count) < 1 / (1 + np.exp(-inputs @ TRUTH))).astype(np.int64)
    turned = random.random(count) < wrong
    return LabelledRows(inputs, np.where(turned, 1 - labels, labels))


def case(clients: int, bad: set[int], seed: int = 0, rows: int = 30) -> ValuationProblem:
    random = np.random.default_rng(seed)
    train = tuple(
        drawn(random, rows, wrong=0.9 if client in bad else 0.0) for client in range(clients)
    )
    return ValuationProblem(train=train, tests=tuple(drawn(random, 20) for _ in range(clients)))


def warm(seed: int = 9) -> np.ndarray:
    return fit(drawn(np.random.default_rng(seed), 15), 1.0)


BAD = {3, 17}


@pytest.fixture(scope="module")
def twenty() -> ValuationProblem:
    return case(20, BAD)


def test_the_fit_is_the_minimum() -> None:
    rows = drawn(np.random.default_rng(1), 40)
    weights = fit(rows, 2.0)
    penalised = lambda moved: 40 * loss(rows, moved) + moved @ moved  # noqa: E731
    for step in np.eye(len(weights)) * 1e-4:
        assert penalised(weights) < min(penalised(weights + step), penalised(weights - step))
    assert not fit(pool_rows([], 6), 1.0).any()


def test_clients_with_wrong_labels_are_low_by_every_way(twenty) -> None:
    found = compare_values(twenty, warm(), Draws.seeded(0))
    for way in found[:3]:
        assert set(np.argsort(way.values)[:2].tolist()) == BAD, way.name
    # Votes are signs of few rows each: coarse, but on the right side.
    votes = found[3].values
    assert votes[list(BAD)].max() < np.median(votes)
    trainings = {way.name: way.trainings for way in found}
    assert trainings["leave-one-out"] == 21
    assert trainings["influence"] == 1
    assert trainings["votes"] == 0
    assert 100 < trainings["Shapley, truncated"] <= 2 + 50 * 19
    assert found[0].rank_correlation == pytest.approx(1)


def test_influence_is_the_first_order_of_leaving_out(twenty) -> None:
    exact, first = leave_one_out(twenty).values, influence(twenty).values
    assert rank_correlation(first, exact) > 0.95
    # With ten times the rows each client is a tenth of the change, and the first order is nearer.
    honest = case(20, set(), rows=300)
    one, other = leave_one_out(honest).values, influence(honest).values
    assert np.linalg.norm(one - other) < 0.2 * np.linalg.norm(one)


def test_shapley_is_the_mean_over_orders() -> None:
    small = case(4, {2})
    everybody = range(4)
    cost = {
        frozenset(some): loss(
            pool_rows(small.tests, 6),
            fit(pool_rows([small.train[one] for one in some], 6), small.ridge),
        )
        for size in range(5)
        for some in permutations(everybody, size)
        if list(some) == sorted(some)
    }
    exact = np.zeros(4)
    orders = list(permutations(everybody))
    for order in orders:
        for place, client in enumerate(order):
            exact[client] += (
                cost[frozenset(order[:place])] - cost[frozenset(order[: place + 1])]
            ) / len(orders)
    found = shapley(small, np.random.default_rng(0), orders=200, tolerance=0.0)
    assert found.values.sum() == pytest.approx(cost[frozenset()] - cost[frozenset(everybody)])
    assert found.values == pytest.approx(exact, abs=0.03)
    assert found.trainings == 2 + 200 * 3
    assert shapley(small, np.random.default_rng(0), orders=5, tolerance=9.0).trainings == 2


@pytest.mark.statistical
def test_noisy_votes_have_the_same_mean(twenty) -> None:
    """The mean of 40 scores of a client is good to .031; one of 20 is off by .2 with a probability of 2e-9."""
    clear = score_by_votes(twenty, warm(), Draws.seeded(0)).values
    noisy = np.mean(
        [
            score_by_votes(twenty, warm(), seeds.draws(seed), epsilon=2.0).values
            for seed in range(40)
        ],
        axis=0,
    )
    assert noisy == pytest.approx(clear, abs=0.2)
    assert -1 <= clear.min() < clear.max() <= 1


def test_cases_without_meaning_are_refused(twenty) -> None:
    with pytest.raises(DataError, match="at least two clients"):
        ValuationProblem(train=twenty.train[:1], tests=twenty.tests[:1])
    with pytest.raises(DataError, match="labels 0 and 1"):
        ValuationProblem(
            train=twenty.train,
            tests=tuple(rows._replace(labels=rows.labels + 1) for rows in twenty.tests),
        )
