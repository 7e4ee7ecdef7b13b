"""Letters as Flower carries them: what is packed is read back, and what is not exactly a letter is refused before it is read."""

from __future__ import annotations

import hashlib
import json

import pytest

pytest.importorskip("flwr", reason="needs tacit[flower]")

from flwr.proto.message_pb2 import ObjectTree

from tacit.deployment.transport.letters import (
    CHUNK,
    Arrival,
    Parcel,
    check_question,
    parcel,
    question_metadata,
)
from tacit.errors import WireError


def packed(letter: bytes) -> tuple[Parcel, dict[str, bytes]]:
    ready = parcel(question_metadata(run=1, node=2), letter)
    return ready, {name: each.deflate() for name, each in ready.objects.items()}


@pytest.mark.parametrize("letter", [b"", b"a", b"\0" * (2 * CHUNK + 1), b"ab" * CHUNK])
def test_a_letter_is_read_back(letter: bytes) -> None:
    ready, contents = packed(letter)
    assert Arrival(ready.tree, contents.get, len(letter)).take() == letter


def test_a_letter_waits_for_its_parts() -> None:
    ready, contents = packed(b"abc")
    there: dict[str, bytes] = {}
    arrival = Arrival(ready.tree, there.get, 3)
    array = ready.tree.children[0].children[0].children[0]
    for name in (array.object_id, array.children[0].object_id):
        assert arrival.take() is None
        there[name] = contents[name]
    assert arrival.take() == b"abc"


def test_a_letter_that_is_too_long_is_refused_before_a_chunk_is_pulled() -> None:
    ready, contents = packed(b"a" * 11)
    pulled: list[str] = []
    with pytest.raises(WireError, match="at most 10 bytes"):
        Arrival(ready.tree, lambda name: pulled.append(name) or contents[name], 10).take()
    assert len(pulled) == 1
    ready, contents = packed(bytes(CHUNK) + b"1")
    with pytest.raises(WireError, match="2 chunks"):
        Arrival(ready.tree, contents.__getitem__, CHUNK)


def test_other_trees_are_refused() -> None:
    ready, _ = packed(b"abc")
    record = ready.tree.children[0]
    for children in ([], [record, record], [ObjectTree(object_id=record.object_id)]):
        with pytest.raises(WireError):
            Arrival(
                ObjectTree(object_id=ready.tree.object_id, children=children), {}.__getitem__, 10
            )


@pytest.mark.parametrize(
    "head",
    [
        {"dtype": "float32"},
        {"stype": "numpy.ndarray"},
        {"shape": [3, 1]},
        {"shape": [4]},
        {"shape": [True]},
        {"shape": 3},
        {"arraychunk_ids": [0] * 1_000_000},
        {"arraychunk_ids": [1]},
        {"arraychunk_ids": [-1]},
        {"arraychunk_ids": []},
        {"arraychunk_ids": None},
    ],
)
def test_other_arrays_are_refused(head: dict[str, object]) -> None:
    """Also one chunk a million times, which Flower would put together to terabytes."""
    ready, contents = packed(b"abc")
    array = ready.tree.children[0].children[0].children[0]
    start, _, body = contents[array.object_id].partition(b"\0")
    forged = json.dumps(json.loads(body) | head).encode()
    content = start.rpartition(b" ")[0] + b" %d\0" % len(forged) + forged
    array.object_id = hashlib.sha256(content).hexdigest()
    with pytest.raises(WireError):
        Arrival(ready.tree, (contents | {array.object_id: content}).get, 10_000_000).take()


@pytest.mark.parametrize(
    "change",
    [
        {"message_type": "train"},
        {"src_node_id": 3},
        {"dst_node_id": 3},
        {"message_id": ""},
        {"ttl": -1.0},
        {"ttl": 1e9},
    ],
)
def test_other_messages_are_refused(change: dict[str, object]) -> None:
    head = packed(b"abc")[0].head
    check_question(head, 2)
    for key, value in change.items():
        setattr(head.metadata, key, value)
    with pytest.raises(WireError, match="no letter to this site"):
        check_question(head, 2)


def test_a_part_that_is_not_the_announced_one_is_refused() -> None:
    ready, contents = packed(b"abc")
    chunk = ready.tree.children[0].children[0].children[0].children[0].object_id
    with pytest.raises(WireError, match="announced"):
        Arrival(
            ready.tree, (contents | {chunk: contents[chunk].replace(b"abc", b"abd")}).get, 10
        ).take()
