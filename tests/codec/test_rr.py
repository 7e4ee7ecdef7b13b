"""Randomised response: exact thresholds, exact epsilon, the printed decoder's error, and an audit with broken twins."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit import codec, plan
from tacit.audit.epsilon import lower_bound
from tacit.codec import rr
from tacit.draws import Draws


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 20])
def test_the_realised_epsilon_is_at_most_the_one_asked_for_and_close_to_it(epsilon) -> None:
    flips = rr.flips_for(epsilon)
    assert isinstance(flips, int)
    ratio = Fraction(rr.WORD - flips, flips)  # exact worst-case ratio of the channel
    assert math.log(ratio) <= epsilon
    assert rr.epsilon_of(flips) >= math.log(ratio)
    assert rr.epsilon_of(flips) == pytest.approx(epsilon, rel=1e-2 if epsilon > 15 else 1e-4)


def exact_probability_of_one(value: float, epsilon: float, clip: float) -> Fraction:
    flips = rr.flips_for(epsilon)
    signed = round(float(np.float32(value)) * ((rr.WORD // 2 - flips) / clip))
    return Fraction(rr.WORD // 2 + min(max(signed, flips - rr.WORD // 2), rr.WORD // 2 - flips), rr.WORD)


@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
def test_the_channel_never_leaves_the_integer_bounds(epsilon) -> None:
    flips, clip = rr.flips_for(epsilon), 1e-3
    for value in (-math.inf, -1.0, -1e-3, -5e-4, -0.0, 0.0, 1e-45, 5e-4, 1e-3, 1.0, math.inf):
        probability = exact_probability_of_one(np.clip(value, -1e30, 1e30), epsilon, clip)
        assert Fraction(flips, rr.WORD) <= probability <= Fraction(rr.WORD - flips, rr.WORD)


@pytest.mark.parametrize(("value", "word", "bit"), [
    (1.0, rr.WORD - rr.flips_for(1.0) - 1, 1), (1.0, rr.WORD - rr.flips_for(1.0), 0),
    (-1.0, rr.flips_for(1.0) - 1, 1), (-1.0, rr.flips_for(1.0), 0),
    (0.0, rr.WORD // 2 - 1, 1), (0.0, rr.WORD // 2, 0), (math.nan, rr.WORD // 2 - 1, 1), (math.nan, rr.WORD // 2, 0),
    (math.inf, rr.WORD - rr.flips_for(1.0) - 1, 1), (math.inf, rr.WORD - rr.flips_for(1.0), 0),
])  # fmt: skip
def test_the_kernel_compares_with_exactly_the_stated_threshold(value, word, bit) -> None:
    payload = np.empty(1, np.uint8)
    largest = rr.WORD // 2 - rr.flips_for(1.0)
    flags = np.zeros(8, np.uint8)
    rr.quantise_flip_pack(np.array([value], np.float32), np.array([word], np.uint32), largest / 1e-3, largest, flags, payload)
    assert payload[0] == bit


def test_the_printed_decoder_shrinks_the_signal_and_drifts() -> None:
    """E[printed] = f²(v + q) - q, so f² = .2136 of the signal is left at epsilon 1 per bit."""
    update, times, clip = np.linspace(-1e-3, 1e-3, 50, dtype=np.float32), 4000, 1e-3
    keep = math.tanh(0.5) ** 2
    means = {}
    for decoder in ("corrected", "printed"):
        made = codec.build(plan.Codec(name="rr", epsilon=1.0, clip=clip, decoder=decoder))
        total = made.empty(50)
        for n in range(times):
            total.add(made.encode(update, {}, Draws.seeded(0).at(n), Draws.seeded(0)).payload, 1, Draws.seeded(0))
        means[decoder] = made.decode(total, Draws.seeded(0), Draws.seeded(0))
    np.testing.assert_allclose(means["printed"], keep * (update + clip) - clip, atol=6 * clip / math.sqrt(times))
    assert np.abs(means["corrected"] - update).max() < 6 * clip / math.tanh(0.5) / math.sqrt(times)


def bits_of(value: float, times: int, settings: plan.Codec) -> np.ndarray:
    made = codec.build(settings)
    payload = made.encode(np.full(times, value, np.float32), {}, Draws.from_system(), Draws.seeded(0)).payload
    return np.unpackbits(payload, bitorder="little")[:times]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_measured_epsilon_per_bit_is_below_the_claim_and_tight(epsilon) -> None:
    """Clopper-Pearson at 1 - 1e-6 on a million bits a side."""
    settings = plan.Codec(name="rr", epsilon=epsilon, clip=1e-3)
    claimed = codec.build(settings).claim(1).loss.epsilon
    bound = lower_bound(bits_of(1e-3, 1_000_000, settings), bits_of(-1e-3, 1_000_000, settings))
    assert bound <= claimed
    assert bound >= (0.8 if epsilon < 0.5 else 0.95) * claimed


def test_a_twin_that_flips_too_rarely_is_caught() -> None:
    honest = plan.Codec(name="rr", epsilon=1.0, clip=1e-3)
    twin = plan.Codec(name="rr", epsilon=1.05, clip=1e-3)  # claims 1.0, spends 1.05
    bound = lower_bound(bits_of(1e-3, 1_000_000, twin), bits_of(-1e-3, 1_000_000, twin))
    assert bound > codec.build(honest).claim(1).loss.epsilon


def test_a_twin_that_repeats_its_noise_is_caught_by_asking_twice() -> None:
    made = codec.build(plan.Codec(name="rr", epsilon=1.0, clip=1e-3))
    update = np.zeros(4096, np.float32)
    fresh = [made.encode(update, {}, Draws.from_system(), Draws.seeded(0)).payload.tobytes() for _ in range(2)]
    twin = [made.encode(update, {}, Draws.seeded(7), Draws.seeded(0)).payload.tobytes() for _ in range(2)]
    assert fresh[0] != fresh[1]
    assert twin[0] == twin[1]


@pytest.mark.parametrize(("epsilon", "ball"), [(1.0, 2e-3), (1.0, 5.5e-3), (3.0, 3e-3)])
def test_the_l1_bound_is_never_beaten_by_any_pair_of_updates(epsilon, ball) -> None:
    """Search over pairs with k equal coordinates on disjoint or opposite supports, the shapes that maximise the loss."""
    clip, flips = 1e-3, rr.flips_for(epsilon)
    bound = codec.build(plan.Codec(name="rr", epsilon=epsilon, clip=clip, clip_l1=ball)).claim(4000).per_update()
    worst, keep = 0.0, rr.kept_signal(flips)
    for used in range(1, 4001):
        size = min(1.0, ball / clip / used) * keep
        opposite = used * math.log((1 + size) / (1 - size))
        disjoint = min(used, 2000) * (math.log(1 + size) - math.log(1 - size))
        worst = max(worst, opposite, disjoint)
    for extreme in range(int(ball / clip) + 1):  # some coordinates at the clip in one update, spread thin in the other
        left = ball / clip - extreme
        thin = math.log((1 + keep) / 1.0) * extreme + left * keep
        worst = max(worst, thin)
    assert worst <= bound * (1 + 1e-9)
    assert bound <= 4000 * epsilon


@pytest.mark.parametrize("size", [1, 7, 8, 9, 63, 16_383, 16_384, 16_385, 40_001])
def test_bits_are_packed_lowest_first_whatever_the_length(size) -> None:
    """With the clip far below the update, every bit is the sign unless flipped: at epsilon 20 per bit almost never."""
    signs = np.random.default_rng(size).integers(0, 2, size)
    payload = rr.randomised_bits((2.0 * signs - 1).astype(np.float32), rr.flips_for(20.0), 1e-3, Draws.seeded(0))
    np.testing.assert_array_equal(np.unpackbits(payload, bitorder="little")[:size], signs)
    assert not np.unpackbits(payload, bitorder="little")[size:].any()
