"""Prints what byzfl computes for the rows of test_robust_peers.py; needs an environment of its own with byzfl (MIT) in it.

    python3 -m venv byzfl && byzfl/bin/pip install byzfl==0.0.11
    byzfl/bin/python tests/server/byzfl_values.py

It pulls torch, torchvision, matplotlib, scipy and seaborn, so it is no dependency of ours, not even for tests: the numbers it
printed stand in the test. They were made with torch 2.13 and an empty stand-in for torchvision, which byzfl imports for its
data sets and its rules do not use.
"""

import json

import numpy as np

try:
    import byzfl
except ImportError:
    byzfl = None

ROWS, COLUMNS = 11, 4


def rows() -> np.ndarray:
    """Return eleven updates, no two of them equally far from a third; the last three are far from the others."""
    steps = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    found = np.round(2 * np.sin(1 + steps**1.5), 3) + np.array([1.0, -1.0, 0.0, 2.0])
    found[-3] *= 12
    found[-2] *= -9
    found[-1] += 7
    return found


def values() -> dict[str, list[float]]:
    given = rows()
    clipped = byzfl.Clipping(c=3.0)(rows())  # it writes into what it is given
    found = {
        "median": byzfl.Median()(given),
        "trimmed_mean 3": byzfl.TrMean(f=3)(given),
        # byzfl counts one neighbour more than the paper, so its f = 4 has the paper's neighbours for f = 3 and keeps one row less.
        "krum 3": byzfl.Krum(f=4)(given),
        "multi_krum 3 keep 7": byzfl.MultiKrum(f=4)(given),
        "mixed 5, trimmed_mean 1": byzfl.TrMean(f=1)(byzfl.NNM(f=5)(given)),
        "mixed 3, row 9": byzfl.NNM(f=3)(given)[9],
        "geometric_median": byzfl.GeometricMedian(nu=1e-9, T=5000)(given),
        "centred_clipping 2, 1 step": byzfl.CenteredClipping(L=1, tau=2.0)(given),
        "centred_clipping 2, 3 steps": byzfl.CenteredClipping(L=3, tau=2.0)(given),
        "norm_bound 3": byzfl.Average()(clipped),
        "ipm 0.5": byzfl.InnerProductManipulation(tau=0.5)(given),
        "sign_flip": byzfl.SignFlipping()(given[:1]),
    }
    return {name: np.round(value, 6).tolist() for name, value in found.items()}


if __name__ == "__main__":
    for name, value in values().items():
        print(json.dumps(name), value)
