"""A quantiser without a guarantee, which saves bytes."""

import math

import numpy as np
import pytest

from tacit import codecs, plan
from tacit.codecs import qsgd
from tacit.errors import WireError
from tacit.privacy.claim import Open
from tacit.randomness import Draws
from tests.roles import decode, encode


def test_rounding_claims_nothing() -> None:
    (claim,) = codecs.build(plan.QSGD()).claims(1000, 10)
    assert claim.event == Open()


@pytest.mark.parametrize("bits", [1, 2, 3, 8, 12, 16])
@pytest.mark.parametrize("norm", ["l2", "max"])
def test_rounding_gives_neighbouring_levels_and_leaves_zeros_alone(bits, norm) -> None:
    made = codecs.build(plan.QSGD(bits=bits, norm=norm))
    update = np.concatenate([np.zeros(50), np.random.default_rng(0).normal(0, 0.1, 951)]).astype(
        np.float32
    )
    payload = encode(made, update, Draws.seeded(1), Draws.seeded(0)).payload
    assert payload.nbytes == made.payload_size(1001) == 4 + math.ceil(1001 * bits / 8)
    total = made.empty(1001)
    total.add(payload, 1, Draws.seeded(0))
    value = decode(made, total, Draws.seeded(0), Draws.seeded(0))
    step = 2 * qsgd.compute_norm(update, norm) / (qsgd.count_levels(bits) - 1)
    assert np.abs(value - update).max() <= step * (1 + 1e-6)
    assert bits == 1 or not value[:50].any()


@pytest.mark.parametrize("settings", [plan.QSGD(bits=3), plan.QSGD(bits=3, norm="max")], ids=str)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_an_update_that_is_not_finite_is_refused(settings, wrong) -> None:
    made = codecs.build(settings)
    total = made.empty(5)
    payload = encode(
        made, np.array([0, 1, wrong, 2, 3], np.float32), Draws.seeded(0), Draws.seeded(0)
    ).payload
    with pytest.raises(WireError, match="its norm must be finite and not negative"):
        total.add(payload, 1, Draws.seeded(0))
    assert total.weight == 0


def test_a_level_that_does_not_exist_is_refused() -> None:
    total = codecs.build(plan.QSGD(bits=2)).empty(4)
    payload = np.concatenate(
        [np.array([1], "<f4").view(np.uint8), np.array([0b11_00_01_10], np.uint8)]
    )
    with pytest.raises(WireError, match="it contains level 3; the levels are 0 to 2"):
        total.add(payload, 1, Draws.seeded(0))
