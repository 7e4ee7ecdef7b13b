"""One case for each server optimiser: settings of `[server]`, and a worked example.

The example is one weight that begins at 0 and takes steps along the mean updates 1, 0.5 and -1.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class OptimizerCase(NamedTuple):
    """Settings of an optimiser, and where the weight of the example stands after each step."""

    settings: dict[str, Any]
    weights: tuple[float, float, float]


MEANS = (1.0, 0.5, -1.0)

CASES: dict[str, OptimizerCase] = {
    # w += lr m
    "sgd": OptimizerCase({"lr": 0.5}, (0.5, 0.75, 0.25)),
    # v = momentum v + m; w += lr v
    "momentum": OptimizerCase({"lr": 0.5, "momentum": 0.5}, (0.5, 1.0, 0.75)),
    # v = (v + m) / 2; s = .99 s + .01 m²; w += lr v / (√s + .001)
    "adam": OptimizerCase({"lr": 0.5, "momentum": 0.5}, (2.4752475, 4.700332, 3.8683933)),
    # v = (v + m) / 2; s = s - .01 m² sign(s - m²); w += lr v / (√s + .001)
    "yogi": OptimizerCase({"lr": 0.5, "momentum": 0.5}, (2.4752475, 4.6914928, 3.8636782)),
}
