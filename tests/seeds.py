"""Randomness of the statistical tests: always the same, or by another seed with `pytest --seed N`.

A statistical test checks what is drawn against a distribution. Each one states the probability with which it fails although
nothing is wrong, which is below 1e-6; `make test-seeds` shows this with 50 seeds.
"""

from __future__ import annotations

import numpy as np

from tacit.randomness import Draws
from tacit.testing.subject import deviations

__all__ = ["chosen", "deviations", "draws", "generator"]

_APART = 1_000_003
chosen = 0
"""What `--seed` says."""


def draws(place: int = 0) -> Draws:
    """Return the root of a test's draws; tests that need several name their places."""
    return Draws.seeded(place + _APART * chosen)


def generator(place: int = 0) -> np.random.Generator:
    """Return a generator for a test's own use."""
    return np.random.default_rng(place + _APART * chosen)
