"""Contributors send their last layer after a few local steps, so that testers can say whether it helps them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import local, plan, wire
from tacit.aggregate import Intake
from tacit.claim import Claim
from tacit.codec import head
from tacit.draws import ClientDraws
from tacit.engine.exchanges.train import Train
from tacit.engine.round import Outcome, Request, State
from tacit.engine.site import Client
from tacit.errors import WireError
from tacit.local.contract import WholeUpdate
from tacit.local.head import HeadPlace, Steps
from tacit.rows import Vector
from tacit.wire import Frame

HEADS, SENDERS, COMMITMENTS = "heads", "heads.senders", "heads.commitments"
_DIGEST = 32


class Sent:
    """Heads as they arrive, each under its sender, and what each sender commits to."""

    def __init__(self) -> None:
        self.rows: dict[int, NDArray[np.uint8]] = {}

    def merge(self, other: Sent) -> None:
        """Take over another's heads."""
        self.rows.update(other.rows)


class Heads:
    """One head per client and round."""

    name = "heads"

    def __init__(self, train: Train, settings: plan.Filter, place: HeadPlace) -> None:
        self.train, self.settings, self.place = train, settings, place
        self.agreement = train.agreement
        self.scale = head.noise_scale(settings, place.size, train.agreement.server.rounds)
        self.binds = train.commits = settings.aggregate == "updates"
        self.size = 4 * place.size + (_DIGEST if self.binds else 0)

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """Return what a head costs its contributor."""
        return (head.claim(self.settings),)

    def ask(self, state: State) -> Request:
        """Return the model as a message to everybody."""
        return replace(self.train.ask(state), exchange=self.name)

    def answer(self, client: Client, request: Request) -> Frame | None:
        """Return the client's head, and with it what it commits to sending later."""
        site, seat, terms = client.site, client.seat, self.agreement
        if site.weight(seat) == 0:
            return None
        site.charge(seat, self.name, request.round_no)
        model = site.model(request)
        change = WholeUpdate(self.honest(client, model, request).ravel())
        sent = site.behaviour.sends(seat, change, request.round_no, self.name)
        parts = [sent.row.astype("<f4").view(np.uint8)]
        if self.binds:
            parts.append(np.frombuffer(self.train.committed(client, request), np.uint8))
        header = wire.Header(terms.run, request.round_no, seat.name, self.name, terms.dim, site.weight(seat), self.size)
        return wire.frame(header, np.concatenate(parts))

    def honest(self, client: Client, model: Vector, request: Request) -> local.Matrix:
        """Return how the head changes by training on the client's rows, clipped and with noise as the plan says."""
        settings, site, seat, round_no = self.settings, client.site, client.seat, request.round_no
        rows, labels = site.seen_by_head(model, site.behaviour.trains(seat, round_no), round_no)
        first = self.place.matrix(model)
        steps = Steps(epochs=settings.epochs, lr=settings.lr, divide_by=settings.batch_rows)
        scale, own = self.scale, seat.own.noise(self.agreement.identity, round_no, self.name, request.digest)
        match settings.protect:
            case "nothing":
                return local.trained(rows, labels, first, steps)
            case "client":
                assert scale is not None, "a checked plan says how much noise"
                return head.noised_change(scale, local.trained(rows, labels, first, steps), own)
            case "record":
                return local.trained(rows, labels, first, steps, partial(self._noised_sum, own))
            case _:
                assert_never(settings.protect)

    def _noised_sum(self, own: ClientDraws, rows: local.Matrix, slopes: local.Matrix, step: int) -> local.Matrix:
        assert self.scale is not None, "a checked plan says how much noise"
        return head.noised_sum(self.scale, rows, slopes, own.at("step", step))

    def empty(self) -> Sent:
        """Return no heads."""
        return Sent()

    def receive(self, intake: Intake, total: Sent, frame: Frame) -> None:
        """Check one head and keep it."""
        terms, message = self.agreement, wire.parse(*frame)
        header = wire.expect(message, run=terms.run, codec=self.name, dim=terms.dim, payload_size=self.size).header
        intake.check(header.sender, header.round_no, header.weight)
        if not np.isfinite(message.payload[: 4 * self.place.size].view("<f4")).all():
            raise WireError(f"head from sender {header.sender} refused: needs finite values, got others")
        total.rows[header.sender] = message.payload.copy()
        intake.note(header.sender)

    def close(self, state: State, total: Sent) -> Outcome:
        """Return the state with all heads, for the testers."""
        senders = np.array(sorted(total.rows), np.int64)
        rows = np.array([total.rows[sender] for sender in senders.tolist()], np.uint8).reshape(len(senders), self.size)
        heads = np.ascontiguousarray(rows[:, : 4 * self.place.size]).view("<f4")
        kept = {HEADS: heads, SENDERS: senders, COMMITMENTS: rows[:, 4 * self.place.size :].copy()}
        return Outcome(state=replace(state, arrays={**state.arrays, **kept}))
