"""The bodies of packets between the driver of a run and its actors."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from tacit.cluster.packet import ArrayShape
from tacit.errors import WireError

Count = Annotated[int, Meta(ge=0)]
ANSWERER = "tacit.simulation.cluster.party:ClusterParty"
"""What an actor runs."""
OPEN, RESPOND, EVALUATE = "open", "respond", "evaluate"
"""The calls of an actor."""


class _Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A body, read strictly."""


class Opening(_Body, frozen=True):
    """An arm of a run: its plan, its name, hashes of its prepared rows and of its computation.

    `has_rows` says that the rows of the run were given in Python and travel with it; `files` are
    the names of files of the run's folder that follow them.
    """

    version: str
    run: str
    arm: str
    plan: dict[str, Any]
    rows: str
    identity: str
    has_rows: bool
    files: list[str]


class Question(_Body, frozen=True):
    """What the chunks of a request share; its payload, the whole cohort and what colluding attackers
    agreed on travel with it.
    """

    exchange: str
    round_no: Count
    head: bytes
    digest: str
    common: list[ArrayShape]


class MemoryFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A file of a client's memory: the store, the client, and the round it was written in."""

    store: str
    client: str
    round_no: int


class Chunks(_Body, frozen=True):
    """Neighbouring chunks of a cohort by their sizes; their names, then the commitments of those who
    made one, then files of memory travel with it.
    """

    sizes: list[Count]
    committed: list[Count]
    memory: list[MemoryFile]


class ChunksSum(_Body, frozen=True):
    """The sum of some chunks; its arrays, then changed files of memory travel with it."""

    clients: Count
    bytes_up: Count
    refused: list[tuple[int | str, str]]
    total: list[ArrayShape]
    memory: list[MemoryFile]


class ClientsToEvaluate(_Body, frozen=True):
    """Clients to evaluate, before or after local training in a round; files of memory follow
    and the shared packet has the model.
    """

    names: list[Count]
    round_no: Count
    after_training: bool
    memory: list[MemoryFile]


class ClientFigures(_Body, frozen=True):
    """The metrics of each client's own model."""

    figures: list[dict[str, float]]


_Kind = TypeVar("_Kind", bound=_Body)


def encode(body: _Body) -> bytes:
    """Encode a body."""
    return msgspec.msgpack.encode(body)


def decode(content: bytes, kind: type[_Kind]) -> _Kind:
    """Decode a body; raise WireError if it is not of this kind."""
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise WireError(
            f"packet of the cluster refused: it is no {kind.__name__} ({error}); install the same"
            " version of Tacit on every node"
        ) from None
