"""What a codec asks after the updates were added up, such as the masks of clients that dropped out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tacit import wire
from tacit.aggregate import Intake
from tacit.claim import Claim
from tacit.codec import Sum
from tacit.engine.round import Outcome, Request, State
from tacit.engine.site import Client
from tacit.wire import Frame

if TYPE_CHECKING:
    from tacit.engine.exchanges.train import Train


class FollowUp:
    """One phase of a codec, as an exchange of its own."""

    def __init__(self, train: Train, number: int) -> None:
        self.train, self.number = train, number
        self.phase = train.agreement.codec.phases[number]
        self.name = f"{train.name}: {self.phase.name}"

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """Return nothing: the codec's claim is about all its phases together."""
        return ()

    def ask(self, state: State) -> Request:
        """Return the phase's question about the sum so far."""
        terms, payload = self.train.agreement, self.phase.ask(state.pending)
        header = wire.Header(terms.run, state.round_no, 0, self.name, terms.dim, 0, payload.nbytes)
        return Request(exchange=self.name, round_no=state.round_no, to=state.cohort, frame=wire.frame(header, payload))

    def answer(self, client: Client, request: Request) -> Frame | None:
        """Return what the client answers from memory; None from a client without rows."""
        terms, site, seat = self.train.agreement, client.site, client.seat
        if site.weight(seat) == 0:
            return None
        message = wire.expect(wire.parse(*request.frame), run=terms.run, round_no=request.round_no, codec=self.name)
        site.charge(seat, self.name, request.round_no)
        own = seat.own.noise(terms.identity, request.round_no, self.name, request.digest)
        public = terms.public.at(request.round_no, seat.name)
        made = self.phase.answer(site.memory(seat, request.round_no + 1), message.payload, own=own, public=public)
        site.remember(seat, request.round_no, made.memory)
        size, weight = made.payload.nbytes, site.weight(seat)
        return wire.frame(wire.Header(terms.run, request.round_no, seat.name, self.name, terms.dim, weight, size), made.payload)

    def empty(self) -> Sum:
        """Return the sum of no answers."""
        return self.phase.empty(self.train.agreement.dim)

    def receive(self, intake: Intake, total: Sum, frame: Frame) -> None:
        """Check one answer and add it."""
        terms, message = self.train.agreement, wire.parse(*frame)
        size = self.phase.payload_size(terms.dim)
        header = wire.expect(message, run=terms.run, codec=self.name, dim=terms.dim, payload_size=size).header
        intake.check(header.sender, header.round_no, header.weight)
        total.add(message.payload, header.weight, terms.public.at(header.round_no, header.sender))
        intake.note(header.sender)

    def close(self, state: State, total: Sum) -> Outcome:
        """Return the corrected sum, and after the last phase the next model."""
        corrected = self.phase.close(state.pending, total)
        if self.number + 1 < len(self.train.agreement.codec.phases):
            return Outcome(state=replace(state, pending=corrected))
        return Outcome(state=self.train.stepped(state, corrected))
