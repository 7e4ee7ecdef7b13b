"""Updates that go into a sum unencoded: the very numbers that encoding each and adding its message would give."""

import numpy as np

from tacit import codecs, plan
from tacit.randomness import Draws
from tacit.rows import SparseUpdates
from tests.roles import encode

WIDTH, LINES, REST = 3, 8, 2
DIM = LINES * WIDTH + REST


def hostile_lines() -> tuple[SparseUpdates, list[np.ndarray], np.ndarray]:
    """Return updates in some lines each, the same as rows, and weights: long, short, tiny, huge, empty, not finite."""
    draw = np.random.default_rng(1)
    scales = [1e-3, 1.0, 10.0, 0.0, 1e-44, 1e38, 1.0, 1.0, 0.3]
    values, named, rows = [], [], []
    for scale in scales:
        mine = np.sort(draw.choice(LINES, draw.integers(0, LINES), replace=False)).astype(np.int32)
        own = (draw.normal(size=len(mine) * WIDTH + REST) * scale).astype(np.float32)
        row = np.zeros(DIM, np.float32)
        values, named, rows = [*values, own], [*named, mine], [*rows, row]
    values[6][-1], values[7][-1] = np.nan, np.inf
    for row, own, mine in zip(rows, values, named, strict=True):
        row[: LINES * WIDTH].reshape(-1, WIDTH)[mine] = own[:-REST].reshape(-1, WIDTH)
        row[LINES * WIDTH :] = own[-REST:]
    starts, name_starts = (np.cumsum([0, *map(len, parts)]) for parts in (values, named))
    lines = SparseUpdates(
        np.concatenate(values), starts, np.concatenate(named), name_starts, WIDTH, LINES * WIDTH
    )
    return lines, rows, np.array([1, 2, 1, 1, 5, 1, 1, 1, 3])


def test_dp_sum_of_lines_and_of_rows_is_the_sum_of_messages() -> None:
    made = codecs.build(
        plan.DPSum(epsilon=8.0, delta=1e-5, clip=1.0), codecs.Extent(rounds=3, cohort=9)
    )
    lines, rows, weights = hostile_lines()
    public, by_message, by_row, at_once = (
        Draws.seeded(0),
        made.empty(DIM),
        made.empty(DIM),
        made.empty(DIM),
    )
    for row, weight in zip(rows, weights.tolist(), strict=True):
        by_message.add(encode(made, row, public, public).payload, weight, public)
        by_row.add_row(row, weight)
    at_once.add_sparse(lines, weights)
    assert by_message.weight == by_row.weight == at_once.weight == 16
    np.testing.assert_array_equal(by_message.value(), by_row.value())
    np.testing.assert_array_equal(by_message.value(), at_once.value())


def test_a_plain_sum_of_lines_is_that_of_rows() -> None:
    made, (lines, rows, weights) = (
        codecs.build(plan.Plain(), codecs.Extent(rounds=1, cohort=9)),
        hostile_lines(),
    )
    by_row, at_once = made.empty(DIM), made.empty(DIM)
    by_row.value(), at_once.value()
    for row, weight in zip(rows, weights.tolist(), strict=True):
        by_row.add_row(row, weight)
    at_once.add_sparse(lines, weights)
    np.testing.assert_array_equal(by_row.value(), at_once.value())
