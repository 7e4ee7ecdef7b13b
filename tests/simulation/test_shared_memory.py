"""Messages through shared memory: the same on the other side, whatever fits, and never one over another."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.simulation.workers import children
from tacit.simulation.workers.shared_memory import Memory, Outbox, Outboxes, Sent

LARGE = 100_000


def arrays(seed: int, *sizes: int) -> list[np.ndarray]:
    return [np.random.default_rng(seed + n).normal(size=size) for n, size in enumerate(sizes)]


@pytest.mark.parametrize(
    "room", [0, 8 * LARGE, 16 * LARGE, 1 << 22], ids=["nothing", "one", "two", "all"]
)
def test_a_message_comes_out_as_it_went_in_whatever_fits(room: int) -> None:
    memory, sums = Memory(room), arrays(1, LARGE, LARGE, 3)
    message = {"sums": sums, "name": "train", "empty": np.empty(0)}
    packed = memory.put(message)
    assert (
        sum(place.stop - place.start for place in packed.places)
        == min(room // (8 * LARGE), 2) * 8 * LARGE
    )
    for found in (memory.view(packed), memory.copy(packed)):
        assert found["name"] == "train"
        assert not found["empty"].size
        assert all(np.array_equal(*pair) for pair in zip(found["sums"], sums, strict=True))


def test_a_copy_outlives_the_next_message_and_a_view_does_not() -> None:
    memory = Memory(8 * LARGE)
    (first,), (second,) = arrays(1, LARGE), arrays(2, LARGE)
    packed = memory.put(first)
    view, copy = memory.view(packed), memory.copy(packed)
    memory.put(second)
    assert np.array_equal(copy, first)
    assert np.array_equal(view, second)


def test_arrays_that_are_not_in_one_piece_travel_too() -> None:
    memory, (flat,) = Memory(1 << 22), arrays(3, 2 * LARGE)
    for array in (flat[::2], flat.reshape(2, LARGE).T, np.asfortranarray(flat.reshape(LARGE, 2))):
        assert np.array_equal(memory.copy(memory.put(array)), array)


_shared: dict[str, Outboxes | Outbox] = {}


def _begin() -> None:
    outboxes = _shared["outboxes"]
    assert isinstance(outboxes, Outboxes)
    _shared["own"] = outboxes.mine()


def _answer(seed: int) -> Sent:
    own = _shared["own"]
    assert isinstance(own, Outbox)
    return own.put((seed, *arrays(seed, LARGE)))


def _fail(seed: int) -> Sent:
    raise ValueError(f"no answer to {seed}")


def test_workers_answer_again_and_again_and_no_answer_is_written_over() -> None:
    _shared["outboxes"] = outboxes = Outboxes(2, 8 * LARGE)
    with children.pool(2, _begin) as pool:
        answers = [outboxes.taken(pool.submit(_answer, seed)) for seed in range(40)]
        for seed, answer in enumerate(answers):
            told, array = answer.result(timeout=60)
            assert told == seed
            assert np.array_equal(array, *arrays(seed, LARGE))


def test_an_error_of_a_worker_is_that_of_its_answer() -> None:
    _shared["outboxes"] = outboxes = Outboxes(1, 8 * LARGE)
    with children.pool(1, _begin) as pool:
        wrong, right = (outboxes.taken(pool.submit(what, 7)) for what in (_fail, _answer))
        with pytest.raises(ValueError, match="no answer to 7"):
            wrong.result(timeout=60)
        assert right.result(timeout=60)[0] == 7
