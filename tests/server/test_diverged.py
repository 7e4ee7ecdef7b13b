"""A model that diverged is measured by finite numbers, so its run ends with a verdict."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.server.measure import LARGEST_LOSS, compute_loss, measure


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf, 3e38, -3e38])
def test_metrics_are_finite(classes: int, cell: float) -> None:
    logits = np.full((6, classes), 0.5, np.float32)
    logits[2, 0] = cell
    labels = np.arange(6, dtype=np.int32) % max(2, classes)
    found = measure(logits, labels)
    assert all(map(math.isfinite, found.values())), found
    assert found["loss"] == compute_loss(logits, labels) <= LARGEST_LOSS


def test_a_model_of_nan_has_the_largest_loss() -> None:
    logits, labels = np.full((4, 1), np.nan, np.float32), np.array([0, 1, 0, 1], np.int32)
    assert measure(logits, labels)["loss"] == LARGEST_LOSS


def test_finite_logits_are_measured_as_they_are() -> None:
    logits = np.array([[2.0], [-1.0]], np.float32)
    expected = (np.logaddexp(0.0, -2.0) + np.logaddexp(0.0, -1.0)) / 2
    assert measure(logits, np.array([1, 0], np.int32))["loss"] == pytest.approx(expected)
