"""The public rotation: orthogonal, the textbook's transform within a block, and even for updates of any shape."""

import numpy as np
import pytest
from scipy.linalg import hadamard as textbook

from tacit.codecs.stages.rotation import (
    apply_hadamard,
    bound_coordinate,
    find_block_size,
    rotate,
    rotate_back,
)

SIZES = [1, 2, 3, 7, 8, 9, 100, 1000, 1024, 5001]


@pytest.mark.parametrize("size", [1, 2, 4, 8, 64, 512])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_block_is_the_textbook_transform(size, kind) -> None:
    row = np.random.default_rng(size).standard_normal(size).astype(kind)
    expected = textbook(size) @ row / np.sqrt(size)
    apply_hadamard(row)
    np.testing.assert_allclose(row, expected, atol=1e-5)


@pytest.mark.parametrize("size", SIZES)
def test_lengths_stay_and_the_way_back_is_exact_but_for_rounding(size) -> None:
    update = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    before = update.copy()
    row = rotate(update)
    np.testing.assert_array_equal(update, before)
    assert len(row) == size
    assert np.linalg.norm(row) == pytest.approx(np.linalg.norm(update), rel=1e-5)
    np.testing.assert_allclose(rotate_back(row), update, atol=1e-5)


@pytest.mark.parametrize("size", [100, 1000, 1024, 5001])
def test_every_coordinate_alone_and_blocks_of_them_are_spread_evenly(size) -> None:
    """Including those that only one block reaches. The signs are fixed: nothing here is random."""
    shapes = [
        np.eye(1, size, place)[0] for place in (0, size - 1, size // 2, find_block_size(size) - 1)
    ]
    shapes += [
        np.ones(size),
        np.arange(size) < size - find_block_size(size),
        np.arange(size) >= find_block_size(size) - 1,
    ]
    for shape in shapes:
        unit = (shape / max(1e-9, np.linalg.norm(shape))).astype(np.float32)
        assert np.abs(rotate(unit)).max() <= bound_coordinate(size)
