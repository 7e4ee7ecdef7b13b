"""A letter as Flower carries it: one array of bytes in one record of one message, cut into chunks.

What comes in is checked before it is read: the tree of objects, then each head, then each chunk by
its stated length. Flower's own way of putting objects together would let a sender repeat one chunk
as often as it likes.
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

CHUNK = FLWR_PRIVATE_MAX_ARRAY_CHUNK_SIZE
KIND = "query"
"""The type of every message; what a letter asks for stands inside it."""

LARGEST_LETTER = 256 * 2**20
"""Bytes of one letter, both ways."""
MOST_OBJECTS = 4 + -(-LARGEST_LETTER // CHUNK)
"""Objects of one message: itself, its record dict, its record, its array, and the chunks of the
longest letter.
"""

KEEP_SECONDS = 24 * 3600.0
"""For how long Flower keeps a letter that nobody fetches or answers."""

_DIGITS = 64
_NAME = "letter"
_STYPE = "tacit.bytes"
_LARGEST_HEAD = 65_536


@dataclass(frozen=True)
class Parcel:
    """A message ready to be pushed: its head, the tree of its objects, and the objects."""

    head: WireMessage
    tree: ObjectTree
    objects: dict[str, InflatableObject]


def parcel(metadata: Metadata, letter: bytes | None) -> Parcel:
    """Return a letter ready to be pushed; None says that something went wrong, and nothing more."""
    if letter is None:
        message = make_message(metadata, error=Error(code=ErrorCode.UNKNOWN, reason=""))
    else:
        array = Array(dtype="uint8", shape=(len(letter),), stype=_STYPE, data=letter)
        message = make_message(metadata, content=RecordDict({_NAME: ArrayRecord({_NAME: array})}))
    with no_object_id_recompute():
        metadata.__dict__["_message_id"] = message.object_id
        objects = get_all_nested_objects(message)
        return Parcel(
            message_to_proto(remove_content_from_message(message)),
            get_object_tree(message),
            objects,
        )


def question_metadata(run: int, node: int) -> Metadata:
    """Return the head of a question to one node."""
    return Metadata(run, "", SUPERLINK_NODE_ID, node, "", "", now().timestamp(), KEEP_SECONDS, KIND)


def check_question(question: WireMessage, node: int) -> None:
    """Refuse a message whose head is not that of a letter to this node, so that an answer to it can
    always be written.
    """
    asked = question.metadata
    ours = (
        asked.message_type == KIND
        and asked.src_node_id == SUPERLINK_NODE_ID
        and asked.dst_node_id == node
    )
    if not ours or len(asked.message_id) != _DIGITS or not 0 < asked.ttl <= KEEP_SECONDS:
        raise WireError("a message is no letter to this site")


def answer_metadata(question: WireMessage, created: float) -> Metadata:
    """Return the head of the answer to a question, written at a time; the same time and answer make
    the same message.
    """
    asked = question.metadata
    left = asked.created_at + asked.ttl - created
    return Metadata(
        asked.run_id,
        "",
        asked.dst_node_id,
        SUPERLINK_NODE_ID,
        asked.message_id,
        "",
        created,
        left,
        KIND,
    )


class Arrival:
    """A letter on its way in. `pull` returns an object's content, or None while it is not there
    yet.

    Of a message only the array and its chunks are pulled; what lies above them says no more than
    the tree.
    """

    def __init__(self, tree: ObjectTree, pull: Callable[[str], bytes | None], largest: int) -> None:
        self._pull = pull
        self._largest = largest
        self._array = _array_of(tree)
        self._chunks = [chunk.object_id for chunk in self._array.children]
        if len(self._chunks) > -(-largest // CHUNK):
            raise WireError(
                f"a letter of {len(self._chunks)} chunks is larger than the {largest} bytes"
                " allowed; nothing was read"
            )
        self._plan: tuple[list[str], int] | None = None
        self._have: dict[str, bytes] = {}

    def take(self) -> bytes | None:
        """Return the letter, or None while a part of it is still to come; read what is there."""
        if self._plan is None:
            head = self._pulled(self._array.object_id, _LARGEST_HEAD)
            if head is None:
                return None
            self._plan = _checked_array(*_body(head, "Array", self._chunks), self._largest)
        for chunk in self._chunks:
            if chunk not in self._have:
                content = self._pulled(chunk, CHUNK + _LARGEST_HEAD)
                if content is None:
                    return None
                self._have[chunk] = _body(content, "ArrayChunk", [])[0]
        order, length = self._plan
        if sum(len(self._have[chunk]) for chunk in order) != length:
            raise WireError(f"a letter that says it has {length} bytes has another length")
        return b"".join(self._have[chunk] for chunk in order)

    def _pulled(self, name: str, largest: int) -> bytes | None:
        content = self._pull(name)
        if content is not None and (
            len(content) > largest or hashlib.sha256(content).hexdigest() != name
        ):
            raise WireError("a part of a letter is too large or is not the one that was announced")
        return content


def _array_of(tree: ObjectTree) -> ObjectTree:
    """Return the array in the record of a message; refuse any other shape."""
    for _ in ("record dict", "record", "array"):
        if len(tree.children) != 1:
            raise WireError(
                f"a letter needs exactly one array in one record, got {len(tree.children)} objects"
            )
        tree = tree.children[0]
    names = [chunk.object_id for chunk in tree.children]
    if len(set(names)) != len(names) or any(chunk.children for chunk in tree.children):
        raise WireError("a letter needs chunks that are different and hold no other objects")
    return tree


def _body(content: bytes, kind: str, children: list[str]) -> tuple[bytes, list[str]]:
    """Return an object's body and the names of its children in its own order; the server's tree has
    them in any.
    """
    try:
        found, below, length = get_object_head_values_from_object_content(content)
        body = content[content.index(b"\0") + 1 :]
    except ValueError:
        raise WireError("a part of a letter has no readable head") from None
    if found != kind or length != len(body) or sorted(below) != sorted(children):
        raise WireError(f"a part of a letter needs to be a whole {kind}")
    return body, below


def _checked_array(body: bytes, chunks: list[str], largest: int) -> tuple[list[str], int]:
    """Return the order of an array's chunks and its length; it must be flat bytes, and not more
    than allowed.
    """
    try:
        array = json.loads(body)
        dtype, shape, stype, order = (
            array[key] for key in ("dtype", "shape", "stype", "arraychunk_ids")
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise WireError("the array of a letter has no readable head") from None
    flat = (
        isinstance(shape, list)
        and len(shape) == 1
        and type(shape[0]) is int
        and 0 <= shape[0] <= largest
    )
    if dtype != "uint8" or stype != _STYPE or not flat:
        raise WireError(
            f"a letter needs one flat array of uint8 with at most {largest} bytes, got {dtype!r} of shape {shape!r}"[
                :200
            ]
        )
    places = (
        isinstance(order, list)
        and len(order) <= -(-largest // CHUNK)
        and all(type(place) is int for place in order)
    )
    if (
        not places
        or not all(0 <= place < len(chunks) for place in order)
        or set(order) != set(range(len(chunks)))
    ):
        raise WireError("a letter needs each of its chunks in its place")
    return [chunks[place] for place in order], shape[0]
