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
from tacit.codecs.stages.integer_updates import Loss, scale_for
from tacit.codecs.sums import (
    BitSum,
    ClippedFloatSum,
    FloatSum,
    LevelSum,
    ModularSum,
    PlacedSum,
    TokenTally,
    WholeSum,
)
from tacit.codecs.sums.checks import squared_norm
from tacit.codecs.sums.joined import JoinedTally
from tacit.codecs.sums.scaled import ScaledSum
from tacit.errors import WireError
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.site_sums import kind_of, receive_site_sum
from tacit.randomness import Draws, PublicDraws
from tests.laws.codec_cases import ALL, at_client, label
from tests.roles import decode, encode
from tests.simulation.test_site_sums import DIM, agreed, summed

every = pytest.mark.parametrize("case", ALL, ids=label)
PUBLIC = PublicDraws(b"public")
WRONG_WEIGHTS = (0, -1, -(2**62), 2**62, 2**63 - 1, 2**63, 2**64 + 1, 2**200)
ENDS = {
    "<i4": [-(2**31), 1 - 2**31, 2**31 - 1, 46341, -46341, 2**16],
    "<i8": [-(2**63), 1 - 2**63, 2**63 - 1, 3037000500, 2**32, 2**62, -1],
    "<f4": [math.nan, math.inf, -math.inf, 3.4028235e38],
    "<f8": [math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 1e300],
    "<u1": [0, 255, 127, 128],
}
KINDS = {
    BitSum,
    ClippedFloatSum,
    FloatSum,
    LevelSum,
    ModularSum,
    PlacedSum,
    TokenTally,
    WholeSum,
    JoinedTally,
    ScaledSum,
}


def total_of(made: codecs.Codec, clients: int = 3, weight: int = 2) -> codecs.Sum:
    """Return the sum of some honest clients."""
    total = made.empty(DIM)
    for n in range(clients):
        update = np.cos(np.arange(DIM, dtype=np.float32) * n) * 0.1
        total.add(encode(made, update, Draws.seeded(n), PUBLIC.at(n)).payload, weight, PUBLIC.at(n))
    return total


def refused(total: codecs.Sum, call) -> bool:
    """Return whether a call is refused; nothing else may be raised, and what is refused leaves the sum as it was."""
    before, weight = total.packed().tobytes(), total.weight
    try:
        call()
    except WireError:
        assert (total.packed().tobytes(), total.weight) == (
            before,
            weight,
        ), "something of it was added"
        return True
    return False


def sane(made: codecs.Codec, total: codecs.Sum) -> None:
    """Check that a sum still is one: it decodes to finite numbers, and crosses a wire."""
    try:
        assert np.isfinite(decode(made, total, PUBLIC, Draws.seeded(0))).all()
    except WireError:
        assert made.decoded_by == "clients", "only clients can see that tokens are not theirs"
    made.empty(DIM).add_packed(total.packed().copy(), total.weight)
    assert 0 <= total.weight < 2**62
    bound = getattr(total, "_norm", None)
    if bound is not None:
        assert sum(int(one) ** 2 for one in total.total.tolist()) <= (total.weight * bound) ** 2


def test_every_kind_of_sum_is_under_these_laws() -> None:
    assert {type(at_client(case).empty(DIM)) for case in ALL} == KINDS


@every
def test_a_payload_of_another_size_is_refused(case) -> None:
    made = at_client(case)
    total, size = total_of(made), made.payload_size(DIM)
    for wrong in sorted({0, 1, 3, size - 1, size + 1, 2 * size, 8 * DIM + 8} - {size}):
        assert refused(
            total, lambda wrong=wrong: total.add(np.zeros(wrong, np.uint8), 1, PUBLIC)
        ), wrong
    packed = total.packed()
    for wrong in (
        packed[:-1],
        packed[:-8],
        np.append(packed, np.uint8(0)),
        packed[:0],
        packed[:7],
        np.tile(packed, 2),
    ):
        assert refused(total, lambda wrong=wrong: total.add_packed(wrong.copy(), 6)), len(wrong)


@every
def test_a_weight_that_no_client_has_is_refused(case) -> None:
    made = at_client(case)
    total, payload = (
        total_of(made),
        encode(made, np.zeros(DIM, np.float32), Draws.seeded(0), PUBLIC).payload,
    )
    packed = total.packed()
    for weight in WRONG_WEIGHTS:
        assert refused(total, lambda weight=weight: total.add(payload.copy(), weight, PUBLIC)), (
            weight
        )
        assert refused(total, lambda weight=weight: total.add_packed(packed.copy(), weight)), weight
    sane(made, total)


@every
def test_weights_that_together_would_wrap_are_refused_by_add_and_merge(case) -> None:
    made = at_client(case)
    payload, heavy = encode(made, np.zeros(DIM, np.float32), Draws.seeded(0), PUBLIC).payload, None
    for power in range(61, 0, -1):
        heavy = made.empty(DIM)
        if not refused(
            heavy, lambda heavy=heavy, power=power: heavy.add(payload.copy(), 1 << power, PUBLIC)
        ):
            break
    other = made.empty(DIM)
    other.add(payload.copy(), heavy.weight, PUBLIC)
    assert refused(heavy, lambda: heavy.merge(other))
    assert refused(heavy, lambda: heavy.add(payload.copy(), heavy.weight, PUBLIC))
    assert refused(heavy, lambda: heavy.add_packed(other.packed().copy(), other.weight))
    sane(made, heavy)


@every
def test_a_sum_over_other_coordinates_is_not_merged(case) -> None:
    made = at_client(case)
    total = total_of(made)
    for dim in (1, DIM - 1, DIM + 1):
        assert refused(total, lambda dim=dim: total.merge(made.empty(dim)))


@every
@pytest.mark.parametrize("kind", ENDS)
def test_extreme_numbers_are_refused_or_harmless(case, kind) -> None:
    made = at_client(case)
    for value in ENDS[kind]:
        for size, add in (
            (made.payload_size(DIM), lambda total, bits: total.add(bits, 1, PUBLIC)),
            (8 * DIM, lambda total, bits: total.add_packed(bits, 6)),
        ):
            total = total_of(made)
            bits = np.resize(np.array([value], kind).view(np.uint8), size)
            refused(total, lambda total=total, bits=bits, add=add: add(total, bits))
            sane(made, total)


@every
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_bits_are_refused_or_harmless(case, data) -> None:
    made = at_client(case)
    payload = data.draw(hnp.arrays(np.uint8, made.payload_size(DIM)))
    total = total_of(made)
    refused(total, lambda: total.add(payload.copy(), 1, PUBLIC))
    sane(made, total)
    packed = total_of(made).packed().copy()
    for _ in range(data.draw(st.integers(1, 4))):
        kind = data.draw(st.sampled_from(["<u1", "<i4", "<i8"]))
        value = (
            np.array([data.draw(st.sampled_from(ENDS[kind]) | st.integers(0, 100))])
            .astype(kind)
            .view(np.uint8)
        )
        at = data.draw(st.integers(0, len(packed) - 1))
        packed[at : at + len(value)] = value[: len(packed) - at]
    weight = data.draw(st.sampled_from([0, 1, 5, 6, 7, 2**40]))
    refused(total, lambda: total.add_packed(packed.copy(), weight))
    sane(made, total)


@every
def test_a_sum_of_nobody_holds_nothing(case) -> None:
    made = at_client(case)
    total = made.empty(DIM)
    assert refused(total, lambda: total.add_packed(total_of(made).packed().copy(), 0))
    assert not refused(total, lambda: total.add_packed(made.empty(DIM).packed().copy(), 0))
    assert total.weight == 0


@every
@pytest.mark.parametrize("count", [-1, -(2**63), 2**61 - 1, 2**60, 2**63 - 1, 2**62, DIM + 10])
def test_a_list_of_clients_of_any_length_is_refused(case, count) -> None:
    """8 + 8 · count wraps for counts near 2^61 and 2^63; the sum itself is honest."""
    terms = agreed(case)
    body = np.frombuffer(summed(terms, [1, 2])[1], np.uint8).copy()
    body[:8] = np.array([count], "<i8").view(np.uint8)
    frame = messages.frame(
        messages.Header(terms.run, 1, 0, kind_of(terms), DIM, 4, len(body)), body
    )
    total = terms.codec.empty(DIM)
    assert refused(total, lambda: receive_site_sum(terms, Intake(range(6), 1, 5), total, frame))


@every
@pytest.mark.parametrize("names", [[-1, 1], [2**62, 1], [-(2**63), 1], [1, 1], [2**63 - 1]])
def test_a_list_of_strangers_is_refused(case, names) -> None:
    terms = agreed(case)
    honest = np.frombuffer(summed(terms, [1, 2])[1], np.uint8)[24:]
    body = np.concatenate([np.array([len(names), *names], "<i8").view(np.uint8), honest])
    frame = messages.frame(
        messages.Header(terms.run, 1, 0, kind_of(terms), DIM, 4, len(body)), body
    )
    total = terms.codec.empty(DIM)
    assert refused(total, lambda: receive_site_sum(terms, Intake(range(6), 1, 5), total, frame))


integers = st.sampled_from(ENDS["<i8"]) | st.integers(-(2**63), 2**63 - 1)


@given(numbers=st.lists(integers, max_size=30))
@settings(deadline=None)
def test_squares_add_up_exactly_for_every_integer(numbers) -> None:
    assert squared_norm(np.array(numbers, "<i8")) == sum(number**2 for number in numbers)
    narrow = np.array(numbers, "<i8").astype("<i4")
    assert squared_norm(narrow) == sum(number**2 for number in narrow.tolist())
    unaligned = np.frombuffer(b"\0" + narrow.tobytes(), np.uint8)[1:].view("<i4")
    assert squared_norm(unaligned) == squared_norm(narrow)


def dp_sum(dim: int) -> tuple[WholeSum, int]:
    """Return an empty sum with the noise of `make run`, and the steps of its clip."""
    made = codecs.build(
        plan.DPSum(epsilon=8.0, delta=1e-5, clip=1.0), codecs.Extent(rounds=40, cohort=5657)
    )
    total = made.empty(dim)
    assert isinstance(total, WholeSum)
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
        assert refused(total, lambda row=row: total.add(row.view(np.uint8), 1, PUBLIC))
    row = np.zeros(dim, "<i4")
    row[0] = radius
    assert not refused(total, lambda: total.add(row.view(np.uint8), 1, PUBLIC)), (
        "an update of exactly the clip"
    )


def test_a_sites_sum_is_as_long_as_its_clients_together_and_no_longer() -> None:
    """A sum of ten clients was accepted with the norm of 9,487 clips: only each number was looked at."""
    dim = 900_000
    total, radius = dp_sum(dim)
    assert refused(
        total, lambda: total.add_packed(np.full(dim, 10 * radius, "<i8").view(np.uint8), 10)
    )
    honest = np.zeros(dim, "<i8")
    honest[7] = 10 * radius
    for change, wrong in ((0, False), (1, True)):
        longer = honest.copy()
        longer[8] = change
        assert (
            refused(total, lambda longer=longer: total.add_packed(longer.view(np.uint8), 10))
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
        scale_for(Loss(epsilon=2.0, delta=1e-5), extent, 1.0, 2, dim).radius,
    )
    for n in range(20):
        total.add(
            encode(made, np.full(dim, dim**-0.5, np.float32), Draws.seeded(n), PUBLIC).payload,
            1,
            PUBLIC,
        )
    made.empty(dim).add_packed(total.packed().copy(), 20)
    row = np.full(dim, radius + 3 * 2**26, "<i4")  # three standard deviations everywhere
    assert refused(total, lambda: total.add(row.view(np.uint8), 1, PUBLIC))
    assert refused(total, lambda: total.add_packed((20 * row.astype("<i8")).view(np.uint8), 20))


def test_a_histogram_whose_weights_wrap_is_refused() -> None:
    """Two weights of 2^63 - 1 add up to -2 in 64 bits; with a third one the counts fitted a weight that nobody has."""
    tally = TokenTally(1, 4)
    weights, rows = np.array([4, 2**63 - 1], "<i8"), np.array([1, 1, 0], np.uint8)
    head = np.array([3, 2, 0, 0], "<u4")
    payload = np.concatenate([head.view(np.uint8), weights.view(np.uint8), rows])
    wrapped = int((np.array([2**63 - 1, 2**63 - 1, 4], np.int64)).sum())
    assert wrapped == 2
    assert refused(tally, lambda: tally.add_packed(payload, wrapped))


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
    assert refused(total, lambda: total.add_packed(np.full(DIM, 6, "<i8").view(np.uint8), 6)), (
        "each message has one coordinate"
    )
    one = np.zeros(DIM, "<i8")
    one[3] = 6
    assert not refused(total, lambda: total.add_packed(one.view(np.uint8), 6))
