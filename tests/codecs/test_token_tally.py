"""The count of tokens: sorted at every coordinate, small tables for weights and long tokens, and what is refused."""

from contextlib import suppress
from itertools import permutations

import numpy as np
import pytest

from tacit.codecs.sums.names import number_tokens
from tacit.codecs.sums.packing import count_packed_bytes, pack_integers, unpack_integers
from tacit.codecs.sums.sorting import list_exchanges, sort_columns
from tacit.codecs.sums.tokens import TokenTally
from tacit.errors import WireError
from tacit.randomness import Draws

ROOT = Draws.seeded(0)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 13, 100])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_columns_are_sorted_whatever_their_number(count, kind) -> None:
    rows = np.random.default_rng(count).integers(0, np.iinfo(kind).max, (count, 1000), kind)
    into = np.empty_like(rows)
    sort_columns(list(rows), into)
    np.testing.assert_array_equal(into, np.sort(rows, axis=0))


def test_a_network_that_sorts_every_order_of_zeros_and_ones_sorts_everything() -> None:
    """The zero-one principle, for all inputs of eleven rows at once."""
    rows = ((np.arange(1 << 11) >> np.arange(11)[:, None]) & 1).astype(np.uint8)
    into = np.empty_like(rows)
    sort_columns(list(rows), into)
    assert (np.diff(into.astype(int), axis=0) >= 0).all()
    assert len(list_exchanges(100)) == 1104


def test_two_threads_sort_like_one() -> None:
    rows = np.random.default_rng(1).integers(0, 256, (3, 400_001), np.uint8)
    into = np.empty_like(rows)
    sort_columns(list(rows), into)
    np.testing.assert_array_equal(into, np.sort(rows, axis=0))


@pytest.mark.parametrize("bits", range(1, 33))
def test_packed_numbers_come_back(bits) -> None:
    numbers = np.random.default_rng(bits).integers(0, 1 << bits, 77, np.uint64)
    assert pack_integers(numbers, bits).nbytes == count_packed_bytes(77, bits)
    np.testing.assert_array_equal(unpack_integers(pack_integers(numbers, bits), 77, bits), numbers)


def tally(rows: np.ndarray, weights: list[int], **more: int) -> TokenTally:
    found = TokenTally(rows.shape[1], 32, **more)
    for row, weight in zip(rows, weights, strict=True):
        found.add(pack_integers(row, found.bits), weight, ROOT)
    return found


ROWS = np.random.default_rng(4).integers(0, 32, (4, 60), np.uint32)


@pytest.mark.parametrize("weights", [[7, 7, 7, 7], [1, 2, 300, 2], [10**12, 1, 2, 3]])
@pytest.mark.parametrize("name_bits", [None, 28])
def test_a_histogram_is_the_same_for_every_order_of_clients(weights, name_bits) -> None:
    rows = ROWS * 7_654_321 if name_bits else ROWS
    seen = {
        tally(rows[list(order)], [weights[n] for n in order], name_bits=name_bits).pack().tobytes()
        for order in permutations(range(4))
    }
    assert len(seen) == 1
    back = TokenTally(60, 32, name_bits)
    back.add_packed(np.frombuffer(seen.pop(), np.uint8), sum(weights))
    tokens, counts = back.value()
    for at in range(60):
        pairs = sorted(zip(rows[:, at].tolist(), weights, strict=True))
        assert list(zip(tokens[:, at].tolist(), counts[:, at].tolist(), strict=True)) == pairs


@pytest.mark.parametrize(
    ("weights", "bits"),
    [([9] * 8, 5), ([9, 9, 9, 400] * 2, 6), ([1, 2, 3, 4, 5, 6, 7, 8 * 10**9], 8)],
)
def test_weights_cost_as_many_bits_as_tell_them_apart(weights, bits) -> None:
    rows = np.concatenate([ROWS, ROWS])
    assert tally(rows, weights).pack().nbytes == 16 + 8 * len(
        set(weights)
    ) + 8 * count_packed_bytes(60, bits)


def test_long_tokens_are_numbers_into_a_table_however_many_there_are() -> None:
    words = np.random.default_rng(2).integers(0, 1 << 64, (9000, 2), np.uint64)
    words = words[np.arange(50_000) % 9000]
    names, numbers = number_tokens(words.view(np.uint8).ravel(), 50_000, 128)
    assert len(names) == 9000
    np.testing.assert_array_equal(names[numbers], words)
    few = words[:300][np.arange(2000) % 300]
    found = TokenTally(2000, 256, 128)
    for _ in range(5):
        found.add(few.view(np.uint8).ravel(), 1, ROOT)
    assert found.pack().nbytes == 16 + 8 + 300 * 16 + 5 * count_packed_bytes(2000, 9)
    back = TokenTally(2000, 256, 128)
    back.add_packed(found.pack(), 5)
    np.testing.assert_array_equal(back.value()[0][0], few)


def test_a_token_that_cannot_be_is_refused() -> None:
    total = TokenTally(5, 11)
    total.add(pack_integers(np.array([0, 10, 3, 4, 5]), 4), 1, ROOT)
    with pytest.raises(WireError, match="it contains token 11; tokens are 0 to 10"):
        total.add(pack_integers(np.array([0, 11, 3, 4, 5]), 4), 1, ROOT)
    for name_bits, rows in ((None, ROWS), (28, ROWS)):
        good = tally(rows, [1, 2, 300, 2], name_bits=name_bits).pack()
        for byte in range(len(good)):  # whatever is changed, it is refused or it still adds up
            bad = good.copy()
            bad[byte] ^= 0x55
            back = TokenTally(60, 32, name_bits)
            with suppress(WireError):
                back.add_packed(bad, 305)
                assert (back.value()[1].sum(axis=0) == 305).all()
