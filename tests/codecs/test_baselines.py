"""Baselines without a guarantee: the paper's noise as it is printed, and quantisers that save bytes."""

import math

import numpy as np
import pytest

from tacit import codecs, plan
from tacit.codecs import paper_gaussian, qsgd
from tacit.errors import WireError
from tacit.privacy.claim import Open
from tacit.randomness import Draws
from tests import seeds
from tests.roles import decode, encode


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("logarithm", "factor", "stddev"),
    [
        ("natural", "deviation", math.sqrt(0.184207)),
        ("ten", "deviation", math.sqrt(0.08)),
        ("ten", "variance", 0.08),
    ],
)
def test_the_printed_noise_has_its_printed_size(logarithm, factor, stddev) -> None:
    """100,000 numbers; their mean or spread is off by more with a probability of 5e-7."""
    settings = plan.PaperGaussian(logarithm=logarithm, factor=factor)
    assert paper_gaussian.stddev_of(settings) == pytest.approx(stddev, rel=1e-5)
    made = codecs.build(settings)
    sent = encode(
        made, np.full(100_000, 5.0, np.float32), seeds.draws(0), Draws.seeded(0)
    ).payload.view("<f4")
    off = seeds.deviations(2) / math.sqrt(100_000)
    assert sent.std() == pytest.approx(stddev, rel=off / math.sqrt(2) + 1e-5)
    assert sent.mean() == pytest.approx(5.0, abs=off * stddev)


def test_what_would_follow_from_the_printed_noise_if_its_sensitivity_were_one() -> None:
    """S² / (2 σ²) is 1 a round with the stated variance: 40 rounds cost rho 40, and 73 per run at delta 1e-3."""
    rho = 40 * 0.4**2 / (2 * paper_gaussian.printed_variance(plan.PaperGaussian(logarithm="ten")))
    assert rho == pytest.approx(40)
    assert rho + 2 * math.sqrt(rho * math.log(1e3)) == pytest.approx(73.2, abs=0.1)


@pytest.mark.parametrize(
    "settings", [plan.PaperGaussian(), plan.QSGD(), plan.Sign()], ids=lambda settings: settings.name
)
def test_none_of_them_claims_anything(settings) -> None:
    (claim,) = codecs.build(settings).claims(1000, 10)
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


def test_a_sign_is_sent_with_the_mean_size() -> None:
    made = codecs.build(plan.Sign())
    total = made.empty(4)
    total.add(
        encode(
            made, np.array([3, -1, 2, -2], np.float32), Draws.seeded(0), Draws.seeded(0)
        ).payload,
        1,
        Draws.seeded(0),
    )
    assert decode(made, total, Draws.seeded(0), Draws.seeded(0)).tolist() == [2, -2, 2, -2]
    assert made.payload_size(506_451) == 4 + 63_307


@pytest.mark.parametrize(
    "settings", [plan.QSGD(bits=3), plan.QSGD(bits=3, norm="max"), plan.Sign()], ids=str
)
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
