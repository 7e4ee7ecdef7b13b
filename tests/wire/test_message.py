"""Messages: small frames, exact round trips, and nothing but WireError for anything malformed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import wire
from tacit.errors import WireError

HEADER = wire.Header("newsgroups-1", 20, 99, "rr", 506_451, 1, 63_307)


def whole(header: wire.Header = HEADER, size: int = 63_307) -> bytes:
    return b"".join(bytes(piece) for piece in wire.frame(header, np.zeros(size, np.uint8)))


def test_framing_of_a_one_bit_update_costs_at_most_200_bytes() -> None:
    assert 63_307 < len(whole()) <= 63_507


def test_lengths_of_heads_are_known_without_making_them() -> None:
    numbers = np.array([0, 1, 127, 128, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, 1 << 62])
    header = wire.Header("run", 3, 70_000, "plain", 9, 200, 36)
    senders, weights = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    made = [wire.Header("run", 3, a, "plain", 9, b, 36) for a, b in zip(senders.tolist(), weights.tolist(), strict=True)]
    assert wire.head_sizes(header, senders, weights).tolist() == [len(wire.head_of(one)) for one in made]


def test_a_message_comes_back_as_it_was() -> None:
    payload = np.arange(256, dtype=np.uint8)
    header = wire.Header("r", 1, 2, "plain", 64, 7, 256)
    data = b"".join(bytes(piece) for piece in wire.frame(header, payload))
    message = wire.parse(*wire.split(data))
    assert message.header == header
    np.testing.assert_array_equal(message.payload, payload)


@given(st.binary(max_size=300))
@settings(max_examples=500, deadline=None)
def test_noise_is_refused(data) -> None:
    with pytest.raises(WireError):
        wire.parse(*wire.split(data))


@given(place=st.integers(0, 60), value=st.integers(0, 255), cut=st.integers(0, 80))
@settings(max_examples=500, deadline=None)
def test_damaged_messages_are_refused_or_differ_visibly(place, value, cut) -> None:
    data = bytearray(whole(wire.Header("r", 1, 2, "rr", 80, 1, 10), 10))
    good = wire.parse(*wire.split(bytes(data)))
    data[place % len(data)] = value
    try:
        message = wire.parse(*wire.split(bytes(data[: max(0, len(data) - cut)])))
    except WireError:
        return
    assert isinstance(message.header, wire.Header)
    # Whatever is still accepted is whole: as many payload bytes as its header says, so one changed byte at most.
    assert message.payload.nbytes == message.header.payload_size
    assert cut == 0 or message.header.payload_size != good.header.payload_size


def test_claims_of_absurd_sizes_are_refused_before_anything_is_allocated() -> None:
    with pytest.raises(WireError, match="payload bytes"):
        wire.parse(*wire.split(whole(wire.Header("r", 1, 2, "rr", 2**60, 1, 2**60), 10)))


def test_a_message_for_another_round_names_sender_and_difference() -> None:
    message = wire.parse(*wire.split(whole()))
    with pytest.raises(WireError, match=r"sender 99 refused: needs round_no 21, got 20"):
        wire.expect(message, run="newsgroups-1", round_no=21)
