"""Messages as Flower carries them: what is packed is read back, and what is not exactly a message is refused before it is read."""

from __future__ import annotations

import hashlib
import json

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

from flwr.proto.message_pb2 import ObjectTree

from tacit.deployment.transport.flower_messages import (
    CHUNK_BYTES,
    IncomingMessage,
    OutgoingMessage,
    build_request_metadata,
    check_request,
    pack_message,
)
from tacit.errors import WireError


def packed(message: bytes) -> tuple[OutgoingMessage, dict[str, bytes]]:
    ready = pack_message(build_request_metadata(run=1, node=2), message)
    return ready, {name: each.deflate() for name, each in ready.objects.items()}


@pytest.mark.parametrize("message", [b"", b"a", b"\0" * (2 * CHUNK_BYTES + 1), b"ab" * CHUNK_BYTES])
def test_a_letter_is_read_back(message: bytes) -> None:
    ready, contents = packed(message)
    assert IncomingMessage(ready.tree, contents.get, len(message)).read() == message


def test_a_letter_waits_for_its_parts() -> None:
    ready, contents = packed(b"abc")
    there: dict[str, bytes] = {}
    arrival = IncomingMessage(ready.tree, there.get, 3)
    array = ready.tree.children[0].children[0].children[0]
    for name in (array.object_id, array.children[0].object_id):
        assert arrival.read() is None
        there[name] = contents[name]
    assert arrival.read() == b"abc"


def test_a_letter_that_is_too_long_is_refused_before_a_chunk_is_pulled() -> None:
    ready, contents = packed(b"a" * 11)
    pulled: list[str] = []
    with pytest.raises(WireError, match="at most 10 bytes"):
        IncomingMessage(ready.tree, lambda name: pulled.append(name) or contents[name], 10).read()
    assert len(pulled) == 1
    ready, contents = packed(bytes(CHUNK_BYTES) + b"1")
    with pytest.raises(WireError, match="2 chunks"):
        IncomingMessage(ready.tree, contents.__getitem__, CHUNK_BYTES)


def test_other_trees_are_refused() -> None:
    ready, _ = packed(b"abc")
    record = ready.tree.children[0]
    for children in ([], [record, record], [ObjectTree(object_id=record.object_id)]):
        with pytest.raises(WireError):
            IncomingMessage(
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
        IncomingMessage(ready.tree, (contents | {array.object_id: content}).get, 10_000_000).read()


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
    check_request(head, 2)
    for key, value in change.items():
        setattr(head.metadata, key, value)
    with pytest.raises(WireError, match="no request to this site"):
        check_request(head, 2)


def test_a_part_that_is_not_the_announced_one_is_refused() -> None:
    ready, contents = packed(b"abc")
    chunk = ready.tree.children[0].children[0].children[0].children[0].object_id
    with pytest.raises(WireError, match="announced"):
        IncomingMessage(
            ready.tree, (contents | {chunk: contents[chunk].replace(b"abc", b"abd")}).get, 10
        ).read()
