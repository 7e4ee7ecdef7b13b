"""What an epsilon means: the level with its source, never green without a whole run, a small delta and real owners."""

from __future__ import annotations

import math

import pytest

from tacit.privacy.claim import Total
from tacit.privacy.statement.meaning import explain_epsilon, explain_totals


def total(epsilon: float | None, unit: str = "run", delta: float = 1e-6) -> Total:
    return Total(unit=unit, epsilon=epsilon, delta=delta, basis="exact")


@pytest.mark.parametrize(
    ("stated", "clients", "owners", "level"),
    [
        ([total(0.5)], 1000, "", "strong"),
        ([total(1.0)], 1000, "", "strong"),
        ([total(1.001)], 1000, "", "reasonable"),
        ([total(10.0)], 1000, "", "reasonable"),
        ([total(10.001)], 1000, "", "weak"),
        ([total(0.5)], 1000, "Owners are simulated.", "reasonable"),
        ([total(0.5, delta=1e-3)], 1000, "", "weak"),
        ([total(1.0, "bit", 0.0), total(2e5, "run")], 1000, "", "weak"),
        ([total(0.1, "bit", 0.0)], 1000, "", "none"),
        ([total(None)], 1000, "", "none"),
    ],
)
def test_levels(stated: list[Total], clients: int, owners: str, level: str) -> None:
    found = explain_totals(stated, clients, owners)
    assert found is not None
    assert found.level == level


def test_nothing_sent_means_nothing() -> None:
    assert explain_totals([], 10) is None


def test_the_words_bound_the_factor_and_the_guess_from_above() -> None:
    said = explain_epsilon(total(1.0, delta=0.0))
    assert f"{math.e:.3f}"[:4] in said  # 2.719, rounded up
    assert "73.11 %" in said
    assert "except with" not in said
    assert "except with probability 1e-06" in explain_epsilon(total(1.0))


def test_every_figure_has_its_unit_and_the_level_its_source() -> None:
    found = explain_totals([total(8.0, delta=1e-5)], 5000)
    assert found is not None
    assert found.sentence.startswith(
        "Epsilon 8 per run, delta 1e-05: a reasonable guarantee (Ponomareva et al. 2023"
    )
