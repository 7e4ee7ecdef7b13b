"""Randomised response: exact thresholds, exact epsilon, the printed decoder's error, and an audit with broken twins."""

import math
from decimal import Decimal

import numpy as np
import pytest

from tacit import codecs, plan
from tacit.audit.epsilon import lower_bound
from tacit.codecs import rr
from tacit.randomness import Draws
from tests import seeds
from tests.measured import least_bound
from tests.roles import decode, encode


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 20])
def test_the_realised_epsilon_is_at_most_the_one_asked_for_and_close_to_it(epsilon) -> None:
    flips = rr.compute_flips(epsilon)
    exact = (
        Decimal(rr.WORD - flips) / Decimal(flips)
    ).ln()  # of the worst-case ratio of the channel, to 28 digits
    assert exact <= Decimal(epsilon)
    assert Decimal(rr.compute_bit_epsilon(flips)) >= exact
    assert rr.compute_bit_epsilon(flips) == pytest.approx(
        epsilon, rel=1e-2 if epsilon > 15 else 1e-4
    )


@pytest.mark.parametrize(("value", "word", "bit"), [
    (1.0, rr.WORD - rr.compute_flips(1.0) - 1, 1), (1.0, rr.WORD - rr.compute_flips(1.0), 0),
    (-1.0, rr.compute_flips(1.0) - 1, 1), (-1.0, rr.compute_flips(1.0), 0),
    (0.0, rr.WORD // 2 - 1, 1), (0.0, rr.WORD // 2, 0), (math.nan, rr.WORD // 2 - 1, 1), (math.nan, rr.WORD // 2, 0),
    (math.inf, rr.WORD - rr.compute_flips(1.0) - 1, 1), (math.inf, rr.WORD - rr.compute_flips(1.0), 0),
])  # fmt: skip
def test_the_kernel_compares_with_exactly_the_stated_threshold(value, word, bit) -> None:
    payload = np.empty(1, np.uint8)
    largest = rr.WORD // 2 - rr.compute_flips(1.0)
    flags = np.zeros(8, np.uint8)
    rr.quantise_flip_pack(
        np.array([value], np.float32),
        np.array([word], np.uint32),
        largest / 1e-3,
        largest,
        flags,
        payload,
    )
    assert payload[0] == bit


@pytest.mark.statistical
def test_the_printed_decoder_shrinks_the_signal_and_drifts() -> None:
    """E[printed] = f²(v + q) - q, so f² = .2136 of the signal is left at epsilon 1 per bit.

    100 means of 4,000 messages with values of ±clip, or ±clip / tanh(1/2): one is off by more with a probability of 5e-7.
    """
    update, times, clip = np.linspace(-1e-3, 1e-3, 50, dtype=np.float32), 4000, 1e-3
    keep = math.tanh(0.5) ** 2
    means = {}
    for decoder in ("corrected", "printed"):
        made = codecs.build(plan.RR(epsilon=1.0, clip=clip, decoder=decoder))
        total = made.empty(50)
        for n in range(times):
            total.add(
                encode(made, update, seeds.draws(0).at(n), Draws.seeded(0)).payload,
                1,
                Draws.seeded(0),
            )
        means[decoder] = decode(made, total, Draws.seeded(0), Draws.seeded(0))
    off = seeds.deviations(100) * clip / math.sqrt(times)
    np.testing.assert_allclose(means["printed"], keep * (update + clip) - clip, atol=off)
    assert np.abs(means["corrected"] - update).max() < off / math.tanh(0.5)


def audit(settings: plan.RR, times: int) -> tuple[float, float]:
    """Return what an audit of bits of two opposite values finds at least, and the lower bound on epsilon it finds."""
    made, sides = codecs.build(settings), []
    for place, value in enumerate((settings.clip, -settings.clip)):
        payload = encode(
            made, np.full(times, value, np.float32), seeds.draws(place), Draws.seeded(0)
        ).payload
        sides.append(np.unpackbits(payload, bitorder="little")[:times])
    flipped = rr.compute_flips(settings.epsilon) / rr.WORD
    return least_bound(1 - flipped, flipped, times), lower_bound(*sides)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_measured_epsilon_per_bit_is_below_the_claim_and_tight(epsilon) -> None:
    """Clopper-Pearson on two million bits a side: it finds too much with a probability of at most 1e-6, too little with 5e-7."""
    settings = plan.RR(epsilon=epsilon, clip=1e-3)
    claimed = codecs.build(settings).claims(1, 1)[0].event.event.epsilon
    least, found = audit(settings, 2_000_000)
    assert (0.8 if epsilon < 0.5 else 0.95) * claimed <= least <= found <= claimed


@pytest.mark.statistical
def test_a_twin_that_flips_too_rarely_is_caught() -> None:
    honest = plan.RR(epsilon=1.0, clip=1e-3)
    twin = plan.RR(epsilon=1.05, clip=1e-3)  # claims 1.0, spends 1.05
    least, found = audit(twin, 1_000_000)
    assert codecs.build(honest).claims(1, 1)[0].event.event.epsilon < least <= found


@pytest.mark.statistical
def test_a_twin_that_repeats_its_noise_is_caught() -> None:
    """Two updates under one noise: where they differ, the bits differ in one direction only, so a difference is read off.

    With fresh noise each of the million coordinates is as likely to rise as to fall; six sigma, false alarm below 1e-8.
    """
    made, size = codecs.build(plan.RR(epsilon=0.1, clip=1e-3)), 1_000_000
    before, after = np.zeros(size, np.float32), np.full(size, 1e-4, np.float32)

    def falls_and_rises(first: Draws, second: Draws) -> tuple[int, int]:
        sent = (
            encode(made, update, own, Draws.seeded(0)).payload
            for update, own in ((before, first), (after, second))
        )
        old, new = (
            np.unpackbits(payload, bitorder="little")[:size].astype(int) for payload in sent
        )
        return int((new < old).sum()), int((new > old).sum())

    def looks_fresh(falls: int, rises: int) -> bool:
        return min(falls, rises) > 0.25 * size - 6 * np.sqrt(0.1875 * size) - 0.01 * size

    assert looks_fresh(*falls_and_rises(seeds.draws(7).at(1), seeds.draws(7).at(2)))
    falls, rises = falls_and_rises(seeds.draws(7), seeds.draws(7))
    assert not looks_fresh(falls, rises)
    assert falls == 0
    assert rises > 0


@pytest.mark.parametrize("size", [1, 7, 8, 9, 63, 16_383, 16_384, 16_385, 40_001])
def test_bits_are_packed_lowest_first_whatever_the_length(size) -> None:
    """With the clip far below the update, every bit is the sign unless flipped: at epsilon 20 per bit almost never."""
    signs = np.random.default_rng(size).integers(0, 2, size)
    payload = rr.randomise_bits(
        (2.0 * signs - 1).astype(np.float32), rr.compute_flips(20.0), 1e-3, Draws.seeded(0)
    )
    np.testing.assert_array_equal(np.unpackbits(payload, bitorder="little")[:size], signs)
    assert not np.unpackbits(payload, bitorder="little")[size:].any()
