"""Modules that cannot be averaged honestly are refused before anything is trained."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import plan, training
from tacit.errors import PlanError
from tacit.rows import Clients, Dense, Rows

torch = pytest.importorskip("torch")

ROWS = Rows(
    inputs=Dense(matrix=np.ones((4, 3), np.float32), width=3),
    labels=np.array([0, 1, 0, 1], np.int32),
    classes=("no", "yes"),
)
CLIENTS = Clients(order=np.arange(4), starts=np.array([0, 2, 4]))


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (
            lambda: torch.nn.Sequential(
                torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)
            ),
            "GroupNorm",
        ),
        (lambda: torch.nn.Linear(3, 1).double(), "float32"),
        (lambda: torch.nn.ReLU(), "no parameters"),
        (lambda: "a word", "torch.nn.Module"),
    ],
)
def test_refused_with_the_remedy(module, words) -> None:
    with pytest.raises(PlanError, match=words):
        training.build(plan.Logistic(), plan.Local(), ROWS, CLIENTS, module())
