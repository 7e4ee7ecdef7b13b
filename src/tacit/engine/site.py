"""One owner's machine: the clients that sit there, their rows, and what they remember.

A phone is a site with one client; a hospital is a site with a client per patient. A simulation is one site with everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit import local, server, wire
from tacit.codec import Memory
from tacit.draws import Draws
from tacit.engine.agreement import Agreement
from tacit.engine.round import Request
from tacit.local.private.store import PrivateStore
from tacit.rows import Vector
from tacit.seat import Own, Seat

Charge = Callable[[Seat, str, int], None]
"""Called with (seat, exchange, round) before an answer leaves; raises BudgetError or PolicyError to refuse."""

MODEL, SUM = "model", "sum"
"""What a request carries: the model itself, or the sum of the round before, which only clients can read."""

_SITE = "site"


class Site:
    """Some clients on one machine, by name; the first name's rows are block 0, and so on."""

    def __init__(
        self, agreement: Agreement, names: Sequence[int], root: Draws, rows: NDArray[np.int64],
        learner: local.Learner | None = None, folder: Path | None = None,
    ) -> None:  # fmt: skip
        self.agreement, self.names, self.root, self.learner = agreement, names, root, learner
        self.weights = local.weights_for(agreement.server, rows)
        self.charge: Charge = lambda seat, exchange, round_no: None
        self._blocks = None if isinstance(names, range) and names.start == 0 else {name: n for n, name in enumerate(names)}
        self._kept = PrivateStore(folder) if folder else None
        self._model: tuple[int, Vector] | None = None

    def seat(self, name: int) -> Seat:
        """Return the seat of a client of this site."""
        return Seat(name, name if self._blocks is None else self._blocks[name], Own(self.root, name))

    def all_have_rows(self, names: NDArray[np.int64]) -> bool:
        """Return whether each of these clients has something to train on."""
        blocks = names if self._blocks is None else [self._blocks[name] for name in names.tolist()]
        return bool((self.weights[blocks] > 0).all())

    def weight(self, seat: Seat) -> int:
        """Return how much a client counts, as it computes from its own rows."""
        return int(self.weights[seat.block])

    def memory(self, seat: Seat, before: int) -> Memory:
        """Return what a client remembers of its codec from rounds before."""
        return (self._kept.read(seat.name, before) if self._kept else None) or {}

    def remember(self, seat: Seat, round_no: int, memory: Memory) -> None:
        """Keep what a client remembers as of a round."""
        if memory and self._kept:
            self._kept.write(seat.name, round_no, memory)

    def forget(self) -> None:
        """Remove what an earlier start remembered."""
        if self._kept:
            self._kept.clear()

    def model(self, request: Request) -> Vector:
        """Return the model a request stands for: as it was sent, or decoded here from a sum the server cannot read."""
        terms = self.agreement
        kind = MODEL if terms.codec.decoded_by == "server" else SUM
        message = wire.expect(wire.parse(*request.frame), run=terms.run, round_no=request.round_no, codec=kind, dim=terms.dim)
        if kind == MODEL:
            wire.expect(message, payload_size=4 * terms.dim)
            return message.payload.view(np.float32)
        if self._model is None or self._model[0] != request.round_no:
            self._model = (request.round_no, self._stepped(message, request.round_no))
        return self._model[1]

    def _stepped(self, message: wire.Message, round_no: int) -> Vector:
        """Return the model after the server's step, taken here: round 1 begins with the first model all sites agree on."""
        terms, state = self.agreement, {}
        if round_no == 1:
            assert self.learner is not None
            model, state = self.learner.initial(terms.public.at("initial")), server.initial_state(terms.server, terms.dim)
        else:
            assert self._kept is not None, "a site that decodes keeps the model between rounds"
            kept = self._kept.read(_SITE, round_no) or {}
            total = terms.codec.empty(terms.dim)
            total.add_packed(message.payload, message.header.weight)
            mean = terms.codec.decode(total, terms.public.at(round_no - 1), self.root.at("decode", round_no - 1))
            before = {name: array for name, array in kept.items() if name != MODEL}
            model, state = server.step(terms.server, kept[MODEL], mean, before)
        if self._kept is not None:
            self._kept.write(_SITE, round_no - 1, {MODEL: model, **state})
        return model


class Client(NamedTuple):
    """A client in its seat: its site, and a worker that trains on its rows."""

    site: Site
    seat: Seat
    worker: local.Worker | None = None
