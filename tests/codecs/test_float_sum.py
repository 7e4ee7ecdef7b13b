"""Sums of float32 updates: one alone stays short, and sums come out the same to the bit however they were put together."""

import numpy as np

from tacit.codecs.sums import FloatSum
from tacit.randomness import Draws
from tacit.simulation.workers.shared_memory import Memory

ROWS = np.random.default_rng(0).normal(size=(5, 50_000)).astype(np.float32)
WEIGHTS = (3, 1, 7, 2, 5)


def sum_of(*numbers: int) -> FloatSum:
    total = FloatSum(ROWS.shape[1])
    for number in numbers:
        total.add(ROWS[number].view(np.uint8), WEIGHTS[number], Draws.seeded(0))
    return total


def test_sums_of_one_merge_to_the_bits_of_adding_in_turn() -> None:
    merged = FloatSum(ROWS.shape[1])
    for number in range(5):
        merged.merge(sum_of(number))
    assert merged.weight == sum(WEIGHTS)
    assert merged.pack().tobytes() == sum_of(*range(5)).pack().tobytes()
    later = sum_of(0, 1)
    later.merge(sum_of(2))
    later.merge(sum_of())
    assert later.pack().tobytes() == sum_of(0, 1, 2).pack().tobytes()
    np.testing.assert_array_equal(sum_of(2).value(), 7.0 * ROWS[2].astype(np.float64))
    assert not sum_of().value().any()


def test_one_update_is_sent_in_its_own_bytes_and_is_not_the_buffer_it_came_in() -> None:
    sizes = [Memory(8 * 50_000).put(total).places[-1].stop for total in (sum_of(0), sum_of(0, 1))]
    assert sizes == [4 * 50_000, 8 * 50_000]
    buffer = ROWS[0].copy()
    total = FloatSum(len(buffer))
    total.add_row(buffer, 1)
    buffer[:] = np.nan
    assert total.is_finite()
    total.add_row(buffer, 1)
    assert not total.is_finite()
