"""Laws that hold for every codec: unbiased, the stated variance, exact sizes, bounded, repeatable, summable."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tacit import codecs, plan
from tacit.codecs import projunit, rr_sampled
from tacit.codecs.distributions.privunit import LARGEST
from tacit.randomness import Draws
from tests import seeds
from tests.laws.codec_cases import ALL, CASES, PRIVATE, at_client, label
from tests.roles import decode, encode

every = pytest.mark.parametrize("case", ALL, ids=label)
hostile = hnp.arrays(
    np.float32,
    st.integers(1, 70),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True),
)


def send(
    made: codecs.Codec, total: codecs.Sum, update: np.ndarray, address: Draws, weight: int = 1
) -> None:
    public = address.at("public")
    total.add(encode(made, update, address.at("own"), public).payload, weight, public)


def decoded_mean(made: codecs.Codec, update: np.ndarray, addresses: list[Draws]) -> np.ndarray:
    total = made.empty(len(update))
    for address in addresses:
        send(made, total, update, address)
    return decoded(made, total)


def decoded(made: codecs.Codec, total: codecs.Sum) -> np.ndarray:
    """Return the mean without what decoding adds: the same draws add the same noise to the sum of nobody."""
    value = decode(made, total, Draws.seeded(0), Draws.seeded(0))
    if made.sum_noise is None:
        return value
    noise = decode(made, made.empty(len(value)), Draws.seeded(0), Draws.seeded(0))
    return (value.astype(np.float64) - noise).astype(np.float32)


def test_every_registered_codec_is_under_these_laws() -> None:
    assert set(CASES) == set(codecs.registered())


@pytest.mark.statistical
@every
def test_decoding_is_unbiased_with_the_stated_variance(case) -> None:
    """200,000 draws per case; one of 200 means, or their mean, is off by more with a probability of 5e-7.

    The variance is good to about 0.5 %, a tenth of what is allowed.
    """
    reach = getattr(case, "clip", 1.0) * 1.5  # beyond the clip on purpose
    update = np.linspace(-reach, reach, 200, dtype=np.float32)
    times = 1000 if 5 * _sent(case, len(update)) >= len(update) else 20_000
    made = at_client(case, cohort=times)
    if not made.unbiased:
        sent = decoded_mean(made, update, [Draws.seeded(1)])
        np.testing.assert_array_equal(
            decoded_mean(made, sent, [Draws.seeded(2)] * 3),
            sent,
            "what it decodes to is sent unchanged",
        )
        return
    variance = made.variance(update)
    total, singles = made.empty(len(update)), []
    for address in (seeds.draws(1).at(n) for n in range(times)):
        public, alone = address.at("public"), made.empty(len(update))
        payload = encode(made, update, address.at("own"), public).payload
        total.add(payload, 1, public)
        if variance.any():
            alone.add(payload, 1, public)
            singles.append(decoded(made, alone))
    error = decoded(made, total).astype(np.float64) - made.clipped(update)
    if not variance.any():
        noise = made.sum_noise(len(update)) if made.sum_noise else 0.0
        np.testing.assert_allclose(
            error, 0, atol=1e-7 * max(1.0, 10 * noise)
        )  # of float32 digits of its noise
        return
    certain = variance == 0  # a value that is a level is sent as it is
    np.testing.assert_allclose(error[certain], 0, atol=1e-6)
    z = error[~certain] / np.sqrt(variance[~certain] / times)
    assert np.abs(z).max() < seeds.deviations(201)
    assert abs(z.mean()) * np.sqrt(len(z)) < seeds.deviations(201)
    assert np.stack(singles).astype(np.float64).var(axis=0).mean() == pytest.approx(
        variance.mean(), rel=0.05
    )


@every
def test_same_address_same_bytes_and_other_address_other_bytes(case) -> None:
    made = at_client(case)
    update = np.linspace(-1e-3, 1e-3, 400, dtype=np.float32)
    here, again = (
        encode(made, update, Draws.seeded(0).at(1), Draws.seeded(0)).payload.tobytes()
        for _ in range(2)
    )
    others = {
        encode(made, update, Draws.seeded(0).at(n), Draws.seeded(0)).payload.tobytes()
        for n in range(60)
    }
    assert here == again
    assert (len(others) == 1) == (not made.variance(update).any()), (
        "a codec without noise repeats itself, no other does"
    )


@every
@given(update=hostile)
@settings(max_examples=150, deadline=None)
def test_any_update_gives_a_payload_of_the_stated_size_and_a_bounded_decode(case, update) -> None:
    made = at_client(case)
    payload = encode(made, update, Draws.seeded(0), Draws.seeded(1)).payload
    assert payload.dtype == np.uint8
    assert payload.nbytes == made.payload_size(len(update))
    if case in PRIVATE:
        total = made.empty(len(update))
        send(made, total, update, Draws.seeded(0))
        value = decode(made, total, Draws.seeded(0), Draws.seeded(0))
        assert np.isfinite(value).all()
        assert np.abs(value).max() <= _largest(case, len(update)) * 1.0001


def _largest(case: plan.Codec, dim: int) -> float:
    """Return the largest size a decoded coordinate can have: that of the outermost output, times d/k if sampled."""
    if isinstance(case, plan.Gaussian | plan.DPSum):  # the clip, and the most noise there is
        made = at_client(case)
        stddev = (
            made.sum_noise(dim)
            if made.sum_noise
            else float(np.sqrt(made.variance(np.zeros(dim, np.float32))[0]))
        )
        return case.clip + 13 * stddev
    if isinstance(case, plan.RQM):
        return (case.clip + case.margin) * dim / _sent(case, dim)
    if isinstance(case, plan.OneBit):  # as long as all coins on one side
        return float(np.sqrt(at_client(case).variance(np.zeros(dim, np.float32))[0] * 255 * dim))
    if isinstance(case, plan.Skellam):  # an update, and the most noise there is
        return case.clip + 14 * float(
            np.sqrt(at_client(case).variance(np.zeros(dim, np.float32))[0] * dim)
        )
    if isinstance(case, plan.ProjUnit):  # as long as all numbers at their largest
        return projunit.shape_of(case, dim).scale * LARGEST * float(np.sqrt(_sent(case, dim)))
    share = (
        _sent(case, dim) / dim
    )  # of one bit, the size squared is the variance at zero, times d/k
    return float(np.sqrt(at_client(case).variance(np.zeros(dim, np.float32))[0] / share))


def _sent(case: plan.Codec, dim: int) -> int:
    """Return how many coordinates a message speaks of."""
    if isinstance(case, plan.RRSampled):
        return rr_sampled.bits_for(case.epsilon, dim)
    return min(dim, getattr(case, "coordinates", None) or dim)


@every
def test_encoding_leaves_the_update_and_global_randomness_alone(case) -> None:
    made = at_client(case)
    update = np.linspace(-1, 1, 100, dtype=np.float32)
    before, state = update.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    encode(made, update, Draws.seeded(0), Draws.seeded(1))
    np.testing.assert_array_equal(update, before)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@every
@given(weights=st.lists(st.integers(1, 400), min_size=1, max_size=12), cut=st.integers(0, 12))
@settings(max_examples=30, deadline=None)
def test_sums_merge_and_decoding_the_sum_is_the_weighted_mean_of_decodes(
    case, weights, cut
) -> None:
    noised = at_client(case).sum_noise is not None
    made = at_client(case, cohort=sum(weights) if noised else 12 * 400)
    updates = [
        np.sin(np.arange(37, dtype=np.float32) + n) * getattr(case, "clip", 1.0)
        for n in range(len(weights))
    ]
    left, right = made.empty(37), made.empty(37)
    for n, (update, weight) in enumerate(zip(updates, weights, strict=True)):
        send(made, left if n < cut else right, update, Draws.seeded(0).at(n), weight)
    left.merge(right)
    # Where noise is added to the sum, decoding divides by the agreed number of clients, so a single one is a cohort of its own.
    alone = at_client(case) if noised else made
    singles = [
        decoded_mean(alone, update, [Draws.seeded(0).at(n)]).astype(np.float64)
        for n, update in enumerate(updates)
    ]
    expected = np.average(singles, axis=0, weights=weights)
    noise = made.sum_noise(37) if made.sum_noise else 0.0
    # Single decodes are float32: where large noise cancels in the mean, their rounding does not.
    rounding = 1e-6 * (getattr(case, "clip", 1.0) + noise + np.abs(singles).max())
    np.testing.assert_allclose(decoded(made, left), expected, rtol=1e-4, atol=rounding)
    assert left.weight == sum(weights)


@every
@given(weights=st.lists(st.integers(1, 400), min_size=1, max_size=6), cut=st.integers(0, 6))
@settings(max_examples=20, deadline=None)
def test_a_sum_that_crossed_a_wire_is_the_same_sum(case, weights, cut) -> None:
    made = at_client(case)
    whole, left, right, crossed = (made.empty(21) for _ in range(4))
    for n, weight in enumerate(weights):
        update = np.cos(np.arange(21, dtype=np.float32) * n) * getattr(case, "clip", 0.1)
        for total in (whole, left if n < cut else right):
            send(made, total, update, Draws.seeded(0).at(n), weight)
    for part in (left, right):
        crossed.add_packed(part.packed().copy(), part.weight)
    left.merge(right)
    assert crossed.packed().tobytes() == left.packed().tobytes()
    assert crossed.weight == whole.weight


@every
def test_a_promise_says_which_party_could_break_it(case) -> None:
    """Owners refuse plans by it, so it must agree with what the codec does: who adds the noise, and who sees what.

    Where decoding adds the noise, or a client's message has none of its own, somebody else than the client keeps the promise.
    """
    made = at_client(case)
    for claim in made.claims(1000, 1):
        alone = made.sum_noise is None and bool(made.variance(np.full(100, 1e-3, np.float32)).any())
        if claim.promises and not alone:
            assert claim.rests_on == "server"
        assert (claim.rests_on == "nobody") == any(
            word.startswith(("nobody", "the server and everyone")) for word in claim.trust
        )
    helped = (
        codecs.build(case, codecs.Extent(rounds=3, cohort=1, helpers=2))
        if getattr(case, "adds_up", False)
        else None
    )
    for claim in helped.claims(1000, 1) if helped else ():
        assert claim.rests_on in ("helpers", "clients", "nobody")
        by_clients = (
            any("the noise" in word or "their noise" in word for word in claim.trust)
            and helped.sum_noise is None
        )
        assert (claim.rests_on == "clients") == by_clients, (
            "where clients make the noise together, one that lies takes some away"
        )
