"""scikit-learn's own battery of checks, all of it. Few rounds, since it fits a hundred models."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit

EXPECTED_TO_FAIL: dict[str, str] = {}
"""Checks that do not apply, each with its reason. There are none."""


@pytest.mark.slow
@parametrize_with_checks(
    [tacit.FederatedClassifier(rounds=3, learning_rate=2.0), tacit.HashedText()],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL,
)
def test_habits_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
