"""Laws about what a hostile client, site or server sends into a sum: it is refused with nothing added, or could be honest.

Nothing but WireError ever comes out of a sum, whatever bits went in.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tacit import codecs, plan
from tacit.codecs.stages.integer_updates import Loss, choose_scale_for_run
from tacit.codecs.sums import (
    BitSum,
    ClippedFloatSum,
    FloatSum,
    IntegerSum,
    LevelSum,
    ModularSum,
    PlacedSum,
    TokenTally,
)
from tacit.codecs.sums.checks import compute_squared_norm
from tacit.codecs.sums.joined import JoinedTally
from tacit.codecs.sums.scaled import ScaledSum
from tacit.errors import WireError
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.site_sums import name_site_sum, receive_site_sum
from tacit.randomness import Draws
from tacit.testing import CHECKS
from tacit.testing.hostile import (
    DIM,
    EXTREMES,
    PUBLIC,
    check_bytes,
    check_packed_bytes,
    sum_honest,
)
from tacit.testing.subject import as_bytes, is_refused
from tests.laws.codec_cases import ALL, at_client, label, subject
from tests.roles import encode
from tests.simulation.test_site_sums import agreed, summed

every = pytest.mark.parametrize("case", ALL, ids=label)
CHECKED = {"sizes", "weights", "other_coordinates", "empty_sum", "extreme_numbers", "any_bytes"}
KINDS = {
    BitSum,
    ClippedFloatSum,
    FloatSum,
    LevelSum,
    ModularSum,
    PlacedSum,
    TokenTally,
    IntegerSum,
    JoinedTally,
    ScaledSum,
}


def require_norm(total: codecs.Sum) -> None:
    """Check the bound on the norm of a sum that has one."""
    bound = getattr(total, "_norm", None)
    if bound is not None:
        assert sum(int(one) ** 2 for one in total.total.tolist()) <= (total.weight * bound) ** 2


def test_every_kind_of_sum_is_under_these_laws() -> None:
    assert {type(at_client(case).empty(DIM)) for case in ALL} == KINDS


@every
@pytest.mark.parametrize("check", sorted(CHECKED - {"any_bytes", "extreme_numbers"}))
def test_a_sum_passes(case, check) -> None:
    CHECKS[check](subject(case))


@every
@pytest.mark.parametrize("kind", EXTREMES)
def test_extreme_numbers_are_refused_or_harmless(case, kind) -> None:
    made = at_client(case)
    for value in EXTREMES[kind]:
        payload = as_bytes(value, kind, made.payload_size(DIM))
        require_norm(check_bytes(made, payload))
        require_norm(check_packed_bytes(made, as_bytes(value, kind, 8 * DIM), 6))


@every
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_bits_are_refused_or_harmless(case, data) -> None:
    made = at_client(case)
    payload = data.draw(hnp.arrays(np.uint8, made.payload_size(DIM)))
    require_norm(check_bytes(made, payload))
    packed = sum_honest(made).pack().copy()
    for _ in range(data.draw(st.integers(1, 4))):
        kind = data.draw(st.sampled_from(["<u1", "<i4", "<i8"]))
        value = (
            np.array([data.draw(st.sampled_from(EXTREMES[kind]) | st.integers(0, 100))])
            .astype(kind)
            .view(np.uint8)
        )
        at = data.draw(st.integers(0, len(packed) - 1))
        packed[at : at + len(value)] = value[: len(packed) - at]
    weight = data.draw(st.sampled_from([0, 1, 5, 6, 7, 2**40]))
    require_norm(check_packed_bytes(made, packed, weight))


@every
@pytest.mark.parametrize("count", [-1, -(2**63), 2**61 - 1, 2**60, 2**63 - 1, 2**62, DIM + 10])
def test_a_list_of_clients_of_any_length_is_refused(case, count) -> None:
    """8 + 8 · count wraps for counts near 2^61 and 2^63; the sum itself is honest."""
    terms = agreed(case)
    body = np.frombuffer(summed(terms, [1, 2])[1], np.uint8).copy()
    body[:8] = np.array([count], "<i8").view(np.uint8)
    frame = messages.frame(
        messages.Header(terms.run, 1, 0, name_site_sum(terms), DIM, 4, len(body)), body
    )
    total = terms.codec.empty(DIM)
    assert is_refused(total, lambda: receive_site_sum(terms, Intake(range(6), 1, 5), total, frame))


@every
@pytest.mark.parametrize("names", [[-1, 1], [2**62, 1], [-(2**63), 1], [1, 1], [2**63 - 1]])
def test_a_list_of_strangers_is_refused(case, names) -> None:
    terms = agreed(case)
    honest = np.frombuffer(summed(terms, [1, 2])[1], np.uint8)[24:]
    body = np.concatenate([np.array([len(names), *names], "<i8").view(np.uint8), honest])
    frame = messages.frame(
        messages.Header(terms.run, 1, 0, name_site_sum(terms), DIM, 4, len(body)), body
    )
    total = terms.codec.empty(DIM)
    assert is_refused(total, lambda: receive_site_sum(terms, Intake(range(6), 1, 5), total, frame))


integers = st.sampled_from(EXTREMES["<i8"]) | st.integers(-(2**63), 2**63 - 1)


@given(numbers=st.lists(integers, max_size=30))
@settings(deadline=None)
def test_squares_add_up_exactly_for_every_integer(numbers) -> None:
    assert compute_squared_norm(np.array(numbers, "<i8")) == sum(number**2 for number in numbers)
    narrow = np.array(numbers, "<i8").astype("<i4")
    assert compute_squared_norm(narrow) == sum(number**2 for number in narrow.tolist())
    unaligned = np.frombuffer(b"\0" + narrow.tobytes(), np.uint8)[1:].view("<i4")
    assert compute_squared_norm(unaligned) == compute_squared_norm(narrow)


def dp_sum(dim: int) -> tuple[IntegerSum, int]:
    """Return an empty sum with the noise of `make run`, and the steps of its clip."""
    made = codecs.build(
        plan.DPSum(epsilon=8.0, delta=1e-5, clip=1.0), codecs.Extent(rounds=40, cohort=5657)
    )
    total = made.empty(dim)
    assert isinstance(total, IntegerSum)
    return total, total._largest


def test_the_check_of_the_norm_does_not_wrap() -> None:
    """The squares of these rows wrapped to a negative or a small number in 64 bits: 171 to 949 clips in one message."""
    dim = 900_000
    total, radius = dp_sum(dim)
    once, twice = (math.ceil(times * 2**63 / radius**2) + 1 for times in (1, 1.99))
    wrapped = next(
        v
        for v in range(radius, 0, -500)
        if (dim * v * v) % 2**64 >= 2**63 or (dim * v * v) % 2**64 <= radius**2
    )
    for numbers, value in ((once, radius), (min(dim, twice), radius), (dim, wrapped)):
        row = np.zeros(dim, "<i4")
        row[:numbers] = value
        assert is_refused(total, lambda row=row: total.add(row.view(np.uint8), 1, PUBLIC))
    row = np.zeros(dim, "<i4")
    row[0] = radius
    assert not is_refused(total, lambda: total.add(row.view(np.uint8), 1, PUBLIC)), (
        "an update of exactly the clip"
    )


def test_a_sites_sum_is_as_long_as_its_clients_together_and_no_longer() -> None:
    """A sum of ten clients was accepted with the norm of 9,487 clips: only each number was looked at."""
    dim = 900_000
    total, radius = dp_sum(dim)
    assert is_refused(
        total, lambda: total.add_packed(np.full(dim, 10 * radius, "<i8").view(np.uint8), 10)
    )
    honest = np.zeros(dim, "<i8")
    honest[7] = 10 * radius
    for change, wrong in ((0, False), (1, True)):
        longer = honest.copy()
        longer[8] = change
        assert (
            is_refused(total, lambda longer=longer: total.add_packed(longer.view(np.uint8), 10))
            == wrong
        )
    assert total.weight == 10


def test_noise_is_in_the_bound_where_clients_add_it() -> None:
    """Honest messages pass, and numbers that each could be noise do not where all of them together cannot."""
    settings_, extent, dim = (
        plan.Gaussian(epsilon=2.0, delta=1e-5, clip=1.0),
        codecs.Extent(rounds=1, cohort=1),
        20_000,
    )
    made = codecs.build(settings_, extent)
    total, radius = (
        made.empty(dim),
        choose_scale_for_run(Loss(epsilon=2.0, delta=1e-5), extent, 1.0, 2, dim).radius,
    )
    for n in range(20):
        total.add(
            encode(made, np.full(dim, dim**-0.5, np.float32), Draws.seeded(n), PUBLIC).payload,
            1,
            PUBLIC,
        )
    made.empty(dim).add_packed(total.pack().copy(), 20)
    row = np.full(dim, radius + 3 * 2**26, "<i4")  # three standard deviations everywhere
    assert is_refused(total, lambda: total.add(row.view(np.uint8), 1, PUBLIC))
    assert is_refused(total, lambda: total.add_packed((20 * row.astype("<i8")).view(np.uint8), 20))


def test_a_histogram_whose_weights_wrap_is_refused() -> None:
    """Two weights of 2^63 - 1 add up to -2 in 64 bits; with a third one the counts fitted a weight that nobody has."""
    tally = TokenTally(1, 4)
    weights, rows = np.array([4, 2**63 - 1], "<i8"), np.array([1, 1, 0], np.uint8)
    head = np.array([3, 2, 0, 0], "<u4")
    payload = np.concatenate([head.view(np.uint8), weights.view(np.uint8), rows])
    wrapped = int((np.array([2**63 - 1, 2**63 - 1, 4], np.int64)).sum())
    assert wrapped == 2
    assert is_refused(tally, lambda: tally.add_packed(payload, wrapped))


def test_tokens_of_one_place_are_not_kept_if_those_of_another_are_refused() -> None:
    parts = (TokenTally(3, 4), TokenTally(3, 5))
    joined = JoinedTally(parts)
    bad = np.array(
        [0b000000, 0b11111111, 0b1], np.uint8
    )  # the second place has tokens of 3 bits, from 0 to 4
    with pytest.raises(WireError, match="tokens"):
        joined.add(bad, 1, PUBLIC)
    assert [part.weight for part in parts] == [0, 0]
    assert [len(part.value()[0]) for part in parts] == [0, 0]


def test_sampled_levels_of_a_site_are_as_few_as_its_messages_speak_of() -> None:
    made = codecs.build(plan.RRSampled(epsilon=0.5, clip=0.1))
    total = made.empty(DIM)
    assert is_refused(total, lambda: total.add_packed(np.full(DIM, 6, "<i8").view(np.uint8), 6)), (
        "each message has one coordinate"
    )
    one = np.zeros(DIM, "<i8")
    one[3] = 6
    assert not is_refused(total, lambda: total.add_packed(one.view(np.uint8), 6))
