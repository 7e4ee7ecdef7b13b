"""The training exchange: the model is sent out, randomised updates come back, their sum becomes the
next model.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from tacit import server
from tacit.codecs import EncodedUpdate, Payload, Sum
from tacit.privacy.claim import Claim
from tacit.protocol import messages
from tacit.protocol.aggregation import CollectedUpdates, Intake, compute_commitment
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges import batch
from tacit.protocol.messages import Frame
from tacit.protocol.round import (
    Arrays,
    Exchange,
    ExchangeOutcome,
    Foreseen,
    Gathered,
    Names,
    Request,
    State,
)
from tacit.protocol.site import MODEL, SUM, Client, Site
from tacit.randomness import Draws, PublicDraws
from tacit.rows import Vector
from tacit.training import Worker
from tacit.training.compiled.blas import one_thread

SALT = 16
"""Bytes of the salt that hides a client's commitment until the message is sent: without it, a
search over all short messages would open it.
"""
Member = Callable[[Vector, int], server.ServerUpdate | None]
"""The server as one more member of the average: computes its own update from the model and the
round.
"""

Judge = Callable[[Vector, int], server.TrustedReference]
"""A server that judges updates by its own rows: computes its results on them from the model and the
round.
"""


class MadeUpClients(Protocol):
    """Canaries: clients that an audit adds to each sum, and what it remembers of the means."""

    def join(self, total: Sum, round_no: int) -> None:
        """Add the messages of the canaries that take part in a round."""

    def seen(self, before: Arrays, mean: Vector) -> Arrays:
        """The arrays for the next exchange, with what the mean of a round shows."""


def nobody(model: Vector, round_no: int) -> None:
    """A server without rows of its own."""


class UpdateExchange(Exchange):
    """One update per client and round, without the sum of the messages: subclasses say what the
    server adds up.
    """

    name = "train"
    trains = True
    # whether clients commit to their answers first; each answer then ends with the salt of its
    # commitment
    commits = False

    def __init__(
        self,
        agreement: Agreement,
        draws: Draws,
        member: Member = nobody,
        judge: Judge | None = None,
        canaries: MadeUpClients | None = None,
    ) -> None:
        """`draws` are the server's own: noise it adds when it decodes. `judge` is there where its
        rule needs rows of its own.
        """
        self.agreement, self.draws, self.member = agreement, draws.for_server(), member
        self.judge, self.canaries = judge, canaries
        self.one_by_one = agreement.server.one_by_one
        if self.one_by_one:  # a rule without an implementation stops the run here
            server.get_rule(agreement.server)

    @property
    def payload_size(self) -> int:
        """Size of an update's payload, with the salt of its commitment where clients commit."""
        terms = self.agreement
        return terms.codec.payload_size(terms.dim) + (SALT if self.commits else 0)

    def measure_response(self, request: Request) -> int:
        """Bytes of an encoded update."""
        return self.payload_size

    @property
    def kind(self) -> str:
        """The codec name in a client's message."""
        return self.agreement.codec.name

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """The claims of one update."""
        claims = self.agreement.codec.claims(self.agreement.dim, clients)
        if not self.agreement.sum_at_site:
            return claims
        return tuple(claim.add_at_site() for claim in claims)

    def build_request(self, state: State) -> Request:
        """The model as a message; where only clients can decode it, the sum it follows from."""
        terms = self.agreement
        if terms.codec.decoded_by == "server":
            assert state.model is not None
            kind, payload, weight = MODEL, state.model.view(np.uint8), 0
        else:
            kind, payload = SUM, state.arrays.get(SUM, np.empty(0, np.uint8))
            weight = int(state.arrays[f"{SUM}.weight"][0]) if SUM in state.arrays else 0
        header = messages.Header(
            terms.run, state.round_no, 0, kind, terms.dim, weight, payload.nbytes
        )
        frame = messages.frame(header, payload)
        return Request(
            exchange=self.name,
            round_no=state.round_no,
            to=state.cohort,
            frame=frame,
            commitments=state.commitments,
        )

    def respond(self, client: Client, request: Request) -> Frame | None:
        """Train on the client's rows, encode the update, and build the message; None for a client
        without rows.
        """
        site, slot = client.site, client.slot
        if site.weight(slot) == 0:
            return None
        model, kept = site.model(request), site.promised.find(slot.name, request)
        if kept is not None:
            return self._build_frame(client, kept, request.round_no)
        return self.build_message(
            client, model, self.update(client, model, request.round_no), request
        )

    def respond_many(self, site: Site, worker: Worker, request: Request) -> Gathered:
        """The sum of the clients' responses; where all of them have rows, many are trained in one
        call.
        """
        if site.all_have_rows(request.to) and not request.commitments:
            return batch.train_together(self, site, worker, request)
        return super().respond_many(site, worker, request)

    def foresee(self, site: Site, worker: Worker, request: Request, names: Names) -> Foreseen:
        """What some clients would honestly send."""
        slots = [site.slot(name) for name in names.tolist()]
        updates = batch.train_each(site, worker, site.model(request), slots, request.round_no)
        return {self.name: np.stack([update.row.copy() for update in updates])}

    def commit(self, client: Client, request: Request) -> bytes:
        """The client's commitment to the message it will send; nothing is released yet, so nothing
        is charged.
        """
        made = client.site.promised.find(client.slot.name, request)
        if made is None:
            model = client.site.model(request)
            made = self.promise(
                client, model, self.update(client, model, request.round_no), request
            )
        return compute_commitment(self._get_committed_bytes(client, made, request.round_no))

    def _get_committed_bytes(
        self, client: Client, made: EncodedUpdate, round_no: int
    ) -> memoryview:
        """The bytes of a message that a client commits to."""
        return self._add_salt(client, made, round_no).data.cast("B")

    def promise(
        self, client: Client, model: Vector, update: Vector, request: Request
    ) -> EncodedUpdate:
        """Encode an update that a client will send later in the round; its site keeps it until
        then.

        `request` may be another exchange's, if it carries the same model as the one that will
        request the update.
        """
        made = self.encode_update(client, model, update, request)
        client.site.promised.keep(client.slot.name, request, made)
        return made

    def update(self, client: Client, model: Vector, round_no: int) -> Vector:
        """The client's update before its codec, in a buffer that its worker uses again."""
        assert client.worker is not None
        slot, behaviour = client.slot, client.site.behaviour
        found = client.worker.train(
            model, behaviour.trains(slot, round_no), slot.own.train(round_no), round_no
        )
        return behaviour.sends(slot, found, round_no, self.name).row

    def build_message(
        self, client: Client, model: Vector, update: Vector, request: Request
    ) -> Frame:
        """The message of a client with this update."""
        return self._build_frame(
            client, self.encode_update(client, model, update, request), request.round_no
        )

    def _build_frame(self, client: Client, made: EncodedUpdate, round_no: int) -> Frame:
        client.site.remember(client.slot, round_no, made.memory)
        payload = self._build_payload(client, made, round_no)
        return messages.frame(self.header(client, round_no, payload.nbytes), payload)

    def _build_payload(self, client: Client, made: EncodedUpdate, round_no: int) -> Payload:
        """The payload of a message with an encoded update."""
        return self._add_salt(client, made, round_no)

    def _add_salt(self, client: Client, made: EncodedUpdate, round_no: int) -> Payload:
        """Append the salt of the commitment to an encoded update, if clients commit.

        The salt follows from the payload by HMAC-SHA256: a site that is rolled back and trains
        again never uses it for another payload.
        """
        if not self.commits:
            return made.payload
        key = (
            client.slot.own.private("commitment")
            .at(self.agreement.identity, round_no)
            .sealed("salt")
            .key
        )
        salt = hmac.digest(key, made.payload.data.cast("B"), "sha256")[:SALT]
        return np.concatenate([made.payload, np.frombuffer(salt, np.uint8)])

    def encode_update(
        self, client: Client, model: Vector, update: Vector, request: Request
    ) -> EncodedUpdate:
        """Encode an update; the same each time, since its randomness has an address."""
        terms, site, slot, round_no = self.agreement, client.site, client.slot, request.round_no
        own = slot.own.noise(terms.identity, round_no, self.name, request.digest)
        public = terms.public.at(round_no, slot.name)
        return site.codec(round_no).encode(
            terms.codec.prepare(model, update), site.memory(slot, round_no), own=own, public=public
        )

    def header(self, client: Client, round_no: int, payload_size: int) -> messages.Header:
        """The header of a client's message."""
        terms, slot = self.agreement, client.slot
        return messages.Header(
            terms.run,
            round_no,
            slot.name,
            self.kind,
            terms.dim,
            client.site.weight(slot),
            payload_size,
        )

    def step(self, state: State, total: Sum | CollectedUpdates) -> State:
        """Take the server's step; where clients decode, keep the sum unread, to be sent back.

        With weight zero, or fewer clients than the codec needs, there is no mean: without rows at
        the server the model does not change. A server that adds noise adds it then too, so that the
        model does not reveal whether anybody responded.
        """
        terms = self.agreement
        if terms.codec.decoded_by == "clients" and not isinstance(total, CollectedUpdates):
            kept = {SUM: total.pack(), f"{SUM}.weight": np.array([total.weight])}
            return replace(state, model=None, pending=None, arrays={**state.arrays, **kept})
        assert state.model is not None
        own = self.member(state.model, state.round_no)
        says = total.weight >= terms.codec.min_clients or terms.codec.sum_noise is not None
        if not says and own is None:
            return replace(state, pending=None)
        mean, arrays = np.zeros(terms.dim, np.float32), state.arrays
        if isinstance(total, CollectedUpdates):
            mean, arrays = self._combine(state, total)
        elif says:
            if self.canaries is not None:
                self.canaries.join(total, state.round_no)
            mean = self.decode_mean(state, total)
            if self.canaries is not None:
                arrays = self.canaries.seen(arrays, mean)
        if own is not None:
            mean = server.add_server_update(mean, own)
        model, optimizer = terms.optimizer.update(state.model, mean, state.optimizer)
        return replace(state, model=model, optimizer=optimizer, pending=None, arrays=arrays)

    def lose(self, state: State) -> State:
        """The state after a lost round; where clients decode, they receive an empty sum."""
        if self.agreement.codec.decoded_by == "server":
            return state
        total = self.agreement.codec.empty(self.agreement.dim)
        kept = {SUM: total.pack(), f"{SUM}.weight": np.array([total.weight])}
        return replace(state, arrays={**state.arrays, **kept})

    def decode_mean(self, state: State, total: Sum) -> Vector:
        """The mean update of a sum, with the server's noise."""
        terms, noise = self.agreement, self.draws.at("decode", self.agreement.identity)
        if terms.codec.rounds_decoder is not None:
            return terms.codec.decode_over_rounds(total, state.round_no, own=noise)
        mean = terms.codec.decode(
            total, public=terms.public.at(state.round_no), own=noise.at(state.round_no)
        )
        return mean if state.model is None else terms.codec.compute_update(state.model, mean)

    def _combine(self, state: State, total: CollectedUpdates) -> tuple[Vector, Arrays]:
        """The mean update by the server's rule, and the arrays for the next exchange, including the
        rule's memory.
        """
        if not total.weight:
            return np.zeros(self.agreement.dim, np.float32), state.arrays
        assert state.model is not None
        names, rows, weights = total.value()
        given, clean = server.Updates(names=names, rows=rows, weights=weights), None
        if self.judge is not None:
            clean = self.judge(state.model, state.round_no)
        others = {
            name: array
            for name, array in state.arrays.items()
            if not name.startswith(server.MEMORY)
        }
        with one_thread():  # were BLAS to use more, a result could depend on the machine's cores
            mean, memory = server.combine(self.agreement.server, given, state.arrays, clean)
        return mean, {**others, **memory}


class Train(UpdateExchange):
    """One update per client and round; the server adds up the messages themselves."""

    def empty(self) -> Sum | CollectedUpdates:
        """The empty sum; where the server's rule needs single updates, an empty collection."""
        if self.one_by_one:
            return CollectedUpdates()
        return self.agreement.codec.empty(self.agreement.dim)

    def pack_total(self, total: Sum | CollectedUpdates) -> Arrays:
        """The sum as the bytes that a site sends, with its weight."""
        if isinstance(total, CollectedUpdates):
            return total.to_arrays()
        return {"sum": total.pack(), "weight": np.array([total.weight])}

    def unpack_total(self, arrays: Arrays) -> Sum | CollectedUpdates:
        """The sum that another process packed, checked as a site's is."""
        total = self.empty()
        if isinstance(total, CollectedUpdates):
            total.add_arrays(arrays)
        else:
            total.add_packed(arrays["sum"], int(arrays["weight"][0]))
        return total

    def receive(self, intake: Intake, total: Sum | CollectedUpdates, frame: Frame) -> None:
        """Check one client's message against the agreement, and add it to the round's sum."""
        terms, message = self.agreement, messages.parse(*frame)
        size = terms.codec.payload_size(terms.dim)
        header = messages.expect(
            message,
            run=terms.run,
            codec=terms.codec.name,
            dim=terms.dim,
            payload_size=self.payload_size,
        ).header
        intake.check(header.sender, header.round_no, header.weight)
        intake.check_commitment(header.sender, frame[1])
        public, message = (
            terms.public.at(header.round_no, header.sender),
            messages.Message(header, message.payload[:size]),
        )
        if isinstance(total, CollectedUpdates):
            total.add(header.sender, self._decode_alone(message, public), header.weight)
        else:
            total.add(message.payload, header.weight, public)
        intake.note(header.sender)

    def _decode_alone(self, message: messages.Message, public: PublicDraws) -> Vector:
        """Decode one message as if it were the round's only one."""
        terms, round_no = self.agreement, message.header.round_no
        one = terms.codec.empty(terms.dim)
        one.add(message.payload, 1, public)
        own = self.draws.at("decode", terms.identity, round_no, message.header.sender)
        return terms.codec.decode(one, public=terms.public.at(round_no), own=own)

    def close(self, state: State, total: Sum | CollectedUpdates) -> ExchangeOutcome:
        """Take the server's step."""
        return ExchangeOutcome(state=self.step(state, total))
