"""Client weights in the average. They are integers, so that weighted bit counts stay exact."""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan


def compute_weights(settings: plan.Server, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one integer weight per client: 1, its number of rows, or that number up to a public
    cap.

    The mean divides by the total weight of the clients that report. Row counts reveal how much data
    a client has; equal weights reveal nothing.
    """
    match settings.weights:
        case "equal":
            return np.ones(len(rows), np.int64)
        case "rows":
            return rows.astype(np.int64)
        case "capped":
            assert settings.weight_cap is not None
            return np.minimum(rows, settings.weight_cap).astype(np.int64)
        case _:
            assert_never(settings.weights)
