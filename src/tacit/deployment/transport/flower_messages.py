"""A signed message as Flower carries it: one byte array in one record of one message, in chunks.

An incoming message is checked before it is read: first the tree of objects, then each head, then
each chunk by its stated length. Flower's own deserialisation would let a sender repeat one chunk
without limit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass

from flwr.app import Array, ArrayRecord, Metadata, RecordDict
from flwr.app.error import Error
from flwr.app.message import make_message, remove_content_from_message
from flwr.common.constant import FLWR_PRIVATE_MAX_ARRAY_CHUNK_SIZE, SUPERLINK_NODE_ID, ErrorCode
from flwr.common.serde import message_to_proto
from flwr.proto.message_pb2 import Message as WireMessage
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.date import now
from flwr.supercore.inflatable.inflatable_object import (
    InflatableObject,
    get_all_nested_objects,
    get_object_head_values_from_object_content,
    get_object_tree,
    no_object_id_recompute,
)

from tacit.errors import WireError

CHUNK_BYTES = FLWR_PRIVATE_MAX_ARRAY_CHUNK_SIZE
MESSAGE_TYPE = "query"
"""Flower's message type, the same for every message; the payload says what it asks for."""

MAX_MESSAGE_BYTES = 256 * 2**20
"""Largest payload in either direction."""
MAX_OBJECTS = 4 + -(-MAX_MESSAGE_BYTES // CHUNK_BYTES)
"""Objects of one Flower message: the message, its record dict, its record, its array, and the
chunks of the largest payload.
"""

TTL_SECONDS = 24 * 3600.0
"""How long Flower keeps a message that nobody fetches or responds to."""

_DIGITS = 64
_NAME = "letter"
_STYPE = "tacit.bytes"
_MAX_HEAD_BYTES = 65_536


@dataclass(frozen=True)
class OutgoingMessage:
    """A message ready to be pushed: its head, the tree of its objects, and the objects."""

    head: WireMessage
    tree: ObjectTree
    objects: dict[str, InflatableObject]


def pack_message(metadata: Metadata, payload: bytes | None) -> OutgoingMessage:
    """Build the Flower message that carries `payload`. None builds an error message without
    details.
    """
    if payload is None:
        message = make_message(metadata, error=Error(code=ErrorCode.UNKNOWN, reason=""))
    else:
        array = Array(dtype="uint8", shape=(len(payload),), stype=_STYPE, data=payload)
        message = make_message(metadata, content=RecordDict({_NAME: ArrayRecord({_NAME: array})}))
    with no_object_id_recompute():
        metadata.__dict__["_message_id"] = message.object_id
        objects = get_all_nested_objects(message)
        return OutgoingMessage(
            message_to_proto(remove_content_from_message(message)),
            get_object_tree(message),
            objects,
        )


def build_request_metadata(run: int, node: int) -> Metadata:
    """Metadata of a request from the server to one node."""
    return Metadata(
        run, "", SUPERLINK_NODE_ID, node, "", "", now().timestamp(), TTL_SECONDS, MESSAGE_TYPE
    )


def check_request(request: WireMessage, node: int) -> None:
    """Refuse a message whose metadata is not that of a request to this node.

    A request that passes can always be responded to.
    """
    head = request.metadata
    ours = (
        head.message_type == MESSAGE_TYPE
        and head.src_node_id == SUPERLINK_NODE_ID
        and head.dst_node_id == node
    )
    if not ours or len(head.message_id) != _DIGITS or not 0 < head.ttl <= TTL_SECONDS:
        raise WireError("the message is no request to this site")


def build_response_metadata(request: WireMessage, created: float) -> Metadata:
    """Metadata of the response to a request.

    The same creation time and payload give the same message id, so a repeated push is recognised.
    """
    head = request.metadata
    left = head.created_at + head.ttl - created
    return Metadata(
        head.run_id,
        "",
        head.dst_node_id,
        SUPERLINK_NODE_ID,
        head.message_id,
        "",
        created,
        left,
        MESSAGE_TYPE,
    )


class IncomingMessage:
    """A message that is still arriving.

    `pull` returns the content of an object by its id, or None while it has not arrived. Only the
    array and its chunks are pulled; the objects above them add nothing to the tree.
    """

    def __init__(
        self, tree: ObjectTree, pull: Callable[[str], bytes | None], max_bytes: int
    ) -> None:
        self._pull = pull
        self._max_bytes = max_bytes
        self._array = _find_array(tree)
        self._chunks = [chunk.object_id for chunk in self._array.children]
        if len(self._chunks) > -(-max_bytes // CHUNK_BYTES):
            raise WireError(
                f"the message has {len(self._chunks)} chunks, more than {max_bytes} bytes can fill;"
                " nothing was read"
            )
        self._layout: tuple[list[str], int] | None = None
        self._contents: dict[str, bytes] = {}

    def read(self) -> bytes | None:
        """Pull what has arrived. Return the payload, or None while a part is missing."""
        if self._layout is None:
            head = self._pull_checked(self._array.object_id, _MAX_HEAD_BYTES)
            if head is None:
                return None
            self._layout = _parse_array(
                *_split_object(head, "Array", self._chunks), self._max_bytes
            )
        for chunk in self._chunks:
            if chunk not in self._contents:
                content = self._pull_checked(chunk, CHUNK_BYTES + _MAX_HEAD_BYTES)
                if content is None:
                    return None
                self._contents[chunk] = _split_object(content, "ArrayChunk", [])[0]
        order, length = self._layout
        if sum(len(self._contents[chunk]) for chunk in order) != length:
            raise WireError(f"the chunks of the message do not add up to its stated {length} bytes")
        return b"".join(self._contents[chunk] for chunk in order)

    def _pull_checked(self, name: str, max_bytes: int) -> bytes | None:
        content = self._pull(name)
        if content is not None and (
            len(content) > max_bytes or hashlib.sha256(content).hexdigest() != name
        ):
            raise WireError("a part of the message is too large or is not the announced one")
        return content


def _find_array(tree: ObjectTree) -> ObjectTree:
    """The array in the only record of a message; any other shape is refused."""
    for _ in ("record dict", "record", "array"):
        if len(tree.children) != 1:
            raise WireError(
                f"a message must hold one array in one record, got {len(tree.children)} objects"
            )
        tree = tree.children[0]
    names = [chunk.object_id for chunk in tree.children]
    if len(set(names)) != len(names) or any(chunk.children for chunk in tree.children):
        raise WireError("the chunks of a message must differ and hold no other objects")
    return tree


def _split_object(content: bytes, kind: str, children: list[str]) -> tuple[bytes, list[str]]:
    """Separate an object into its body and the ids of its children.

    The ids come in the object's own order; the tree lists them in any order.
    """
    try:
        found, below, length = get_object_head_values_from_object_content(content)
        body = content[content.index(b"\0") + 1 :]
    except ValueError:
        raise WireError("a part of the message has no readable head") from None
    if found != kind or length != len(body) or sorted(below) != sorted(children):
        raise WireError(f"a part of the message is not a complete {kind}")
    return body, below


def _parse_array(body: bytes, chunks: list[str], max_bytes: int) -> tuple[list[str], int]:
    """Read the order of the chunks and the length of an array of at most `max_bytes` bytes."""
    try:
        array = json.loads(body)
        dtype, shape, stype, order = (
            array[key] for key in ("dtype", "shape", "stype", "arraychunk_ids")
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise WireError("the array of the message has no readable head") from None
    flat = (
        isinstance(shape, list)
        and len(shape) == 1
        and type(shape[0]) is int
        and 0 <= shape[0] <= max_bytes
    )
    if dtype != "uint8" or stype != _STYPE or not flat:
        raise WireError(
            f"a message must be a flat uint8 array of at most {max_bytes} bytes, got"
            f" {str(dtype)[:40]!r} of shape {str(shape)[:80]}"
        )
    places = (
        isinstance(order, list)
        and len(order) <= -(-max_bytes // CHUNK_BYTES)
        and all(type(place) is int for place in order)
    )
    if (
        not places
        or not all(0 <= place < len(chunks) for place in order)
        or set(order) != set(range(len(chunks)))
    ):
        raise WireError("the array does not list each of its chunks")
    return [chunks[place] for place in order], shape[0]
