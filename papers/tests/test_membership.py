"""Membership of texts in FedVocab's messages: a broken client is found out, a control is not."""

from __future__ import annotations

import math
import os

import pytest

pytest.importorskip("torch")

from tacit_papers.fedvocab import PAPER


@pytest.mark.skipif(not os.environ.get("TACIT_DATA"), reason="needs AG News from TACIT_DATA")
@pytest.mark.slow
def test_a_client_that_learns_its_texts_by_heart_is_found_out_and_controls_are_not() -> None:
    settings = {"method": "FedAvg", "rows": 150, "texts": 40, "bits": None, "knows": True}
    found = PAPER.runners["membership"](epochs=40, seed=2, **settings)["last"]
    assert found["loss drop"] > 0.5 + 4 * _spread(40, 40)
    for score in ("loss drop", "alignment"):
        assert abs(found[f"{score}, control"] - 0.5) < 4 * _spread(20, 20)


def _spread(members: int, others: int) -> float:
    """Standard deviation of the area under the curve of scores that say nothing."""
    return math.sqrt((members + others + 1) / (12 * members * others))
