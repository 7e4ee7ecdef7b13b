"""Arrays travel as bytes, and what does not match is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.cluster.packet import ArrayShape, pack_arrays, unpack_arrays
from tacit.errors import WireError
from tacit.simulation.cluster import bodies


def test_arrays_arrive_as_they_were_sent() -> None:
    sent = {"a": np.arange(6, dtype=np.float64).reshape(2, 3)[:, ::2], "b": np.empty(0, np.int64)}
    found = unpack_arrays(*pack_arrays(sent))
    assert found.keys() == sent.keys()
    for name, array in sent.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize(
    ("shape", "blobs"),
    [
        (ArrayShape("a", "<f8", (3,)), 1),
        (ArrayShape("a", "<f8", (2,)), 2),
        (ArrayShape("a", "nonsense", (2,)), 1),
        (ArrayShape("a", "|O", (2,)), 1),
    ],
)
def test_arrays_that_do_not_match_are_refused(shape: ArrayShape, blobs: int) -> None:
    with pytest.raises(WireError, match="packet refused"):
        unpack_arrays([shape], [np.zeros(16, np.uint8)] * blobs)


def test_a_body_of_another_kind_is_refused() -> None:
    content = bodies.encode(bodies.Chunks(sizes=[1], committed=[], memory=[]))
    with pytest.raises(WireError, match="it is no ClientsToEvaluate"):
        bodies.decode(content, bodies.ClientsToEvaluate)
