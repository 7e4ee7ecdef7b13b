from itertools import pairwise

import numpy as np
import pytest

from tacit.norms import sum_squares, sum_squares_by_row
from tacit.training.unit import scale_to_unit


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 9, 50])
def test_many_rows_have_the_sums_of_each_to_the_bit(rows) -> None:
    draw = np.random.default_rng(rows)
    starts = np.concatenate([[0], np.cumsum(draw.integers(0, 300, rows))]).astype(np.int64)
    values = draw.normal(size=starts[-1]).astype(np.float32)
    alone = [sum_squares(values[begin:end]) for begin, end in pairwise(starts)]
    assert sum_squares_by_row(values, starts).tolist() == alone


def test_rows_are_scaled_each_by_itself_and_zeros_and_what_is_not_finite_stay() -> None:
    values = np.array([3, 4, 0, 0, 1, np.inf, -2], np.float32)
    scale_to_unit(values, np.array([0, 2, 4, 6, 7]))
    np.testing.assert_array_equal(values, np.array([0.6, 0.8, 0, 0, 1, np.inf, -1], np.float32))
