"""Our rules beside byzfl's on the same rows. The numbers were printed by `tests/server/byzfl_values.py` (byzfl 0.0.11), which says
how to make the environment it runs in."""

import numpy as np
import pytest

from tacit.server.rules.clipping import centred_clipping, norm_bound
from tacit.server.rules.coordinates import median, trimmed_mean
from tacit.server.rules.geometric import geometric_median
from tacit.server.rules.neighbours import mix_neighbours, multi_krum
from tacit.training import attacks
from tests.server.byzfl_values import rows

ROWS = rows().astype(np.float32)
ZERO = np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("ours", "byzfl"),
    [
        (lambda: median(ROWS), [1.824, -0.34, 0.048, 2.151]),
        (lambda: trimmed_mean(ROWS, 3), [1.0586, 0.0334, 0.556, 2.3826]),
        (lambda: multi_krum(ROWS, 3, keep=1), [-0.442, -0.34, 1.997, 2.151]),
        (lambda: multi_krum(ROWS, 3, keep=7), [0.475714, -0.800571, 0.505, 1.787]),
        (
            lambda: trimmed_mean(mix_neighbours(ROWS, 5), 1),
            [0.857074, -0.219278, 0.627704, 2.23063],
        ),
        (lambda: mix_neighbours(ROWS, 3)[9], [-0.092, 1.04525, -0.14725, 0.426625]),
        (lambda: geometric_median(ROWS), [0.785678, -0.22716, 0.660489, 2.308934]),
        (
            lambda: centred_clipping(ROWS, ZERO, 2.0, steps=1),
            [0.336027, -0.059816, 0.253099, 0.95396],
        ),
        (
            lambda: centred_clipping(ROWS, ZERO, 2.0, steps=3),
            [0.632929, -0.176059, 0.559517, 1.913258],
        ),
        (lambda: norm_bound(ROWS, bound=3.0), [0.50445, -0.051454, 0.325751, 1.397604]),
        (lambda: attacks.ipm(ROWS, 0.5), [-0.791636, -0.950273, 0.782636, -2.540227]),
        (lambda: attacks.sign_flip(ROWS[0]), [-2.683, -0.819, 1.268, -1.826]),
    ],
)
def test_the_same_as_byzfl(ours, byzfl) -> None:
    np.testing.assert_allclose(ours(), byzfl, atol=2e-5)
