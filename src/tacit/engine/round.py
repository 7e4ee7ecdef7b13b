"""One round, described once: what a client does and what the server does, as functions of values.

Every engine runs these two halves. A client's half ends in the pieces of a message; the server's half begins by
checking one. Between them lies nothing but bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import plan, server, wire
from tacit.aggregate import Sum
from tacit.codec import Codec
from tacit.draws import Draws
from tacit.local import Update, Worker
from tacit.rows import Vector

Pieces = tuple[bytes, memoryview]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What both sides agreed on before round one. `draws` are a client's own; `public` is known to both sides."""

    run: str
    dim: int
    codec: Codec
    draws: Draws
    public: Draws


def model_message(terms: Terms, round_no: int, model: Vector) -> Pieces:
    """Return the message that carries the model to a client."""
    payload = model.view(np.uint8)
    return wire.frame(wire.Header(terms.run, round_no, 0, "model", terms.dim, 0, payload.nbytes), payload)


def client_half(terms: Terms, worker: Worker, model: Vector, round_no: int, client: int, weight: int) -> Pieces:
    """Train on the client's rows, encode the update, and return the message."""
    update = worker.train(model, client, terms.draws.at(round_no, client, "train"), round_no)
    return update_message(terms, update, round_no, client, weight)


def update_message(terms: Terms, update: Update, round_no: int, client: int, weight: int) -> Pieces:
    """Encode a client's update and return the message that carries it."""
    payload = terms.codec.encode(update.row, terms.draws.at(round_no, client, "noise"), terms.public.at(round_no, client))
    return wire.frame(wire.Header(terms.run, round_no, client, terms.codec.name, terms.dim, weight, payload.nbytes), payload)


def receive(terms: Terms, total: Sum, pieces: Pieces, round_no: int, touched: NDArray[np.int64] | None = None) -> None:
    """Check one client's message and add it to the round's sum.

    `touched` are spans outside which a plain update is zero: a simulator's shortcut, not part of the message.
    """
    message = wire.expect(
        wire.parse(*pieces),
        run=terms.run,
        round_no=round_no,
        codec=terms.codec.name,
        dim=terms.dim,
        payload_size=terms.codec.payload_size(terms.dim),
    )
    places = terms.codec.places
    where = places(terms.dim, terms.public.at(round_no, message.header.sender)) if places else touched
    total.add(message.payload, message.header.weight, where)


def server_half(
    settings: plan.Server, terms: Terms, model: Vector, total: Sum, state: server.ServerState, own: server.Own | None = None
) -> tuple[Vector, server.ServerState]:
    """Return the next model: decode the sum, add what the server learned from rows of its own, take the server's step.

    A cohort of weight zero says nothing: without rows at the server the model stays as it is.
    """
    if total.weight == 0 and own is None:
        return model, state
    mean = terms.codec.decode(total.value(), total.weight) if total.weight else np.zeros(terms.dim, np.float32)
    return server.step(settings, model, server.with_own(mean, own), state)
