"""Messages: small frames, exact round trips, and nothing but WireError for anything malformed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import WireError
from tacit.protocol import messages

HEADER = messages.Header("newsgroups-1", 20, 99, "rr", 506_451, 1, 63_307)


def whole(header: messages.Header = HEADER, size: int = 63_307) -> bytes:
    return b"".join(bytes(piece) for piece in messages.frame(header, np.zeros(size, np.uint8)))


def pieces(data: bytes, header: messages.Header = HEADER) -> messages.Frame:
    """The two pieces of a message that was joined: its head is as long as that of the header."""
    cut = len(messages.encode_head(header))
    return data[:cut], memoryview(data)[cut:]


def test_framing_of_a_one_bit_update_costs_at_most_200_bytes() -> None:
    assert 63_307 < len(whole()) <= 63_507


def test_lengths_of_heads_are_known_without_making_them() -> None:
    numbers = np.array([0, 1, 127, 128, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, 1 << 62])
    header = messages.Header("run", 3, 70_000, "plain", 9, 200, 36)
    senders, weights = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    made = [
        messages.Header("run", 3, a, "plain", 9, b, 36)
        for a, b in zip(senders.tolist(), weights.tolist(), strict=True)
    ]
    assert messages.compute_head_sizes(header, senders, weights).tolist() == [
        len(messages.encode_head(one)) for one in made
    ]


def test_a_message_comes_back_as_it_was() -> None:
    payload = np.arange(256, dtype=np.uint8)
    header = messages.Header("r", 1, 2, "plain", 64, 7, 256)
    message = messages.parse(*messages.frame(header, payload))
    assert message.header == header
    np.testing.assert_array_equal(message.payload, payload)


@given(st.binary(max_size=300))
@settings(max_examples=500, deadline=None)
def test_noise_is_refused(data) -> None:
    for cut in {0, len(data) // 2, len(data)}:
        with pytest.raises(WireError):
            messages.parse(data[:cut], memoryview(data)[cut:])


def test_a_head_begins_with_its_mark_and_its_length() -> None:
    head, payload = messages.frame(HEADER, np.zeros(63_307, np.uint8))
    for wrong in (
        b"TAC2" + head[4:],
        head[:4] + b"\0" + head[5:],
        head + b"\0",
        head[:7],
        b"",
        head[:-1],
    ):
        with pytest.raises(WireError, match=r"message refused: .*head"):
            messages.parse(wrong, payload)
    assert messages.read_sender((b"", payload)) == -1
    assert messages.read_sender((head, payload)) == 99
    assert messages.size((head, payload)) == len(head) + 63_307
    longest = messages.encode_head(
        messages.Header("r" * 80, 2**62, 2**62, "c" * 80, 2**62, 2**62, 0)
    )
    assert messages.parse(longest, memoryview(b"")).header.run == "r" * 80
    with pytest.raises(WireError, match="its header is malformed"):
        messages.parse(head[:8] + b"\xc1" + head[9:], payload)
    too_long = b"TAC1" + (5000).to_bytes(4, "little") + bytes(5000)
    with pytest.raises(WireError, match="a head has 8 to 4104 bytes, got 5008"):
        messages.parse(too_long, payload)


@given(place=st.integers(0, 60), value=st.integers(0, 255), cut=st.integers(0, 80))
@settings(max_examples=500, deadline=None)
def test_damaged_messages_are_refused_or_differ_visibly(place, value, cut) -> None:
    header = messages.Header("r", 1, 2, "rr", 80, 1, 10)
    data = bytearray(whole(header, 10))
    good = messages.parse(*pieces(bytes(data), header))
    data[place % len(data)] = value
    try:
        message = messages.parse(*pieces(bytes(data[: max(0, len(data) - cut)]), header))
    except WireError:
        return
    assert isinstance(message.header, messages.Header)
    # Whatever is still accepted is whole: as many payload bytes as its header says, so one changed byte at most.
    assert message.payload.nbytes == message.header.payload_size
    assert cut == 0 or message.header.payload_size != good.header.payload_size


def test_claims_of_absurd_sizes_are_refused_before_anything_is_allocated() -> None:
    with pytest.raises(WireError, match="payload bytes"):
        messages.parse(
            messages.encode_head(messages.Header("r", 1, 2, "rr", 2**60, 1, 2**60)),
            memoryview(bytes(10)),
        )


def test_a_message_for_another_round_names_sender_and_difference() -> None:
    message = messages.parse(*pieces(whole()))
    with pytest.raises(WireError, match=r"sender 99 refused: round_no must be 21, got 20"):
        messages.expect(message, run="newsgroups-1", round_no=21)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (7, "a head has 8 to 4104 bytes, got 7"),
        (8, "malformed"),
        (4104, "malformed"),
        (4105, "a head has 8 to 4104 bytes, got 4105"),
    ],
)
def test_the_smallest_and_the_largest_head(size: int, said: str) -> None:
    lead = messages.encode_head(HEADER)[:4] + max(0, size - 8).to_bytes(4, "little")
    with pytest.raises(WireError, match=said):
        messages.parse((lead + bytes(4200))[:size], memoryview(b""))
