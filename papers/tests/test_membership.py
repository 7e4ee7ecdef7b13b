"""Membership of texts in FedVocab's messages: a broken client is found out, a control is not."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("torch")

from tacit_papers.fedvocab import PAPER


@pytest.mark.skipif(not os.environ.get("TACIT_DATA"), reason="needs AG News from TACIT_DATA")
@pytest.mark.slow
def test_a_client_that_learns_its_texts_by_heart_is_found_out_and_controls_are_not() -> None:
    settings = {"method": "FedVocab", "rows": 300, "texts": 60, "bits": None, "knows": True}
    broken = PAPER.runners["membership"](epochs=40, seed=2, **settings)["last"]
    honest = PAPER.runners["membership"](epochs=1, seed=2, **settings)["last"]
    assert broken["alignment"] > max(0.75, honest["alignment"])
    for found in (broken, honest):
        assert abs(found["alignment, control"] - 0.5) < 0.2
