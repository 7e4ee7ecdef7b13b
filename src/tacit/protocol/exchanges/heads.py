"""The exchange in which contributors send their last layer after a few local steps, for testers to
vote on.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan, training
from tacit.codecs.votes import head
from tacit.errors import WireError
from tacit.privacy.claim import Claim
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges import batch
from tacit.protocol.exchanges.train import UpdateExchange
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
from tacit.protocol.site import Client, Site
from tacit.randomness import ClientDraws
from tacit.rows import Vector
from tacit.training import HeadPlace, LastPart
from tacit.training.contract import DenseUpdate
from tacit.training.head import Steps

HEADS, SENDERS, COMMITMENTS = "heads", "heads.senders", "heads.commitments"
_DIGEST = 32


class ReceivedHeads:
    """Received heads by sender, each with the sender's commitment."""

    def __init__(self) -> None:
        self.rows: dict[int, NDArray[np.uint8]] = {}

    def merge(self, other: ReceivedHeads) -> None:
        """Add heads received elsewhere."""
        self.rows.update(other.rows)

    def to_arrays(self) -> Arrays:
        """The heads as arrays."""
        senders = np.array(list(self.rows), np.int64)
        rows = np.array(list(self.rows.values()), np.uint8).reshape(len(senders), -1)
        return {"senders": senders, "rows": rows}

    def add_arrays(self, arrays: Arrays) -> None:
        """Add heads that another process received."""
        self.rows.update(zip(arrays["senders"].tolist(), arrays["rows"], strict=True))


class Heads(Exchange):
    """One head per client and round."""

    name = "heads"
    trains = True

    def __init__(self, train: UpdateExchange, settings: plan.Filter, place: LastPart) -> None:
        self.train, self.settings, self.place = train, settings, place
        self.agreement = train.agreement
        self.scale = head.choose_noise_scale(settings, place.size, train.agreement.server.rounds)
        self.binds = train.commits = settings.aggregate == "updates"
        self.size = 4 * place.size + (_DIGEST if self.binds else 0)

    def takes_place(self, round_no: int) -> bool:
        """Whether clients vote in a round."""
        return self.settings.votes_in(round_no)

    def measure_response(self, request: Request) -> int:
        """Bytes of a last layer and its commitment."""
        return self.size

    def first(self, model: Vector) -> training.Matrix:
        """The last layer from which contributors take their steps."""
        return np.asarray(np.float32(self.settings.head_scale) * self.place.matrix(model))

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """The claim of a head for its contributor."""
        return (head.build_head_claim(self.settings),)

    def build_request(self, state: State) -> Request:
        """The model as a message to everybody."""
        return replace(self.train.build_request(state), exchange=self.name)

    def respond(self, client: Client, request: Request) -> Frame | None:
        """The client's head, with its commitment to the update it sends later."""
        site, slot, terms = client.site, client.slot, self.agreement
        if site.weight(slot) == 0:
            return None
        model = site.model(request)
        change = DenseUpdate(self.honest(client, model, request).ravel())
        sent = site.behaviour.sends(slot, change, request.round_no, self.name)
        parts = [sent.row.astype("<f4").view(np.uint8)]
        if self.binds:
            parts.append(np.frombuffer(self.train.commit(client, request), np.uint8))
        header = messages.Header(
            terms.run,
            request.round_no,
            slot.name,
            self.name,
            terms.dim,
            site.weight(slot),
            self.size,
        )
        return messages.frame(header, np.concatenate(parts))

    def respond_many(self, site: Site, worker: training.Worker, request: Request) -> Gathered:
        """The heads of the clients; the updates they commit to are trained many in one call."""
        if self.binds and site.all_have_rows(request.to):
            batch.commit_together(self.train, site, worker, request)
        return super().respond_many(site, worker, request)

    def foresee(
        self, site: Site, worker: training.Worker, request: Request, names: Names
    ) -> Foreseen:
        """What some clients would honestly send: heads, and the updates they commit to."""
        model, seen = site.model(request), self.train.foresee(site, worker, request, names)
        clients = [site.client(name, worker) for name in names.tolist()]
        changes = [self.honest(client, model, request).ravel() for client in clients]
        return {**seen, self.name: np.stack(changes)}

    def honest(self, client: Client, model: Vector, request: Request) -> training.Matrix:
        """The change of the head by training on the client's rows, clipped and noised as the plan
        says.
        """
        settings, slot, round_no = self.settings, client.slot, request.round_no
        steps = Steps(
            epochs=settings.epochs,
            lr=settings.lr,
            divide_by=settings.batch_rows,
            batch=settings.batch,
            order=slot.own.train(round_no).at("last layer"),
        )
        own = slot.own.noise(self.agreement.identity, round_no, self.name, request.digest)
        match settings.protect:
            case "nothing":
                return self._train(client, model, round_no, steps)
            case "client":
                assert self.scale is not None, "a checked plan says how much noise"
                change = self._train(client, model, round_no, steps)
                return head.add_noise_to_change(self.scale, change, own)
            case "record":
                return self._train(client, model, round_no, steps, own)
            case _:
                assert_never(settings.protect)

    def _train(
        self,
        client: Client,
        model: Vector,
        round_no: int,
        steps: Steps,
        own: ClientDraws | None = None,
    ) -> training.Matrix:
        """The change of the last part by steps on the client's rows; `own` draws the noise of each
        step, if it has any.
        """
        site, first = client.site, self.first(model)
        slot = site.behaviour.trains(client.slot, round_no)
        if isinstance(self.place, HeadPlace):
            rows, labels = site.compute_head_inputs(model, slot, round_no)
            if own is None:
                return training.train_head(rows, labels, first, steps)
            total = partial(self._sum_with_noise, own)
            return training.train_head(rows, labels, first, steps, total)
        read = site.read_part(model, self.place.size, slot, round_no)
        if own is None:
            return training.train_part(read, first, steps)
        return training.train_part(read, first, steps, partial(self._sum_part_with_noise, own))

    def _sum_with_noise(
        self, own: ClientDraws, rows: training.Matrix, slopes: training.Matrix, step: int
    ) -> training.Matrix:
        assert self.scale is not None, "a checked plan says how much noise"
        return head.add_noise_to_gradients(self.scale, rows, slopes, own.at("step", step))

    def _sum_part_with_noise(
        self, own: ClientDraws, rows: training.PartRows, part: Vector, step: int
    ) -> Vector:
        assert self.scale is not None, "a checked plan says how much noise"
        return head.add_noise_to_row_gradients(
            self.scale, rows.list_gradients(part), part.size, own.at("step", step)
        )

    def empty(self) -> ReceivedHeads:
        """No heads."""
        return ReceivedHeads()

    def receive(self, intake: Intake, total: ReceivedHeads, frame: Frame) -> None:
        """Check one head and keep it."""
        terms, message = self.agreement, messages.parse(*frame)
        header = messages.expect(
            message, run=terms.run, codec=self.name, dim=terms.dim, payload_size=self.size
        ).header
        intake.check(header.sender, header.round_no, header.weight)
        if not np.isfinite(message.payload[: 4 * self.place.size].view("<f4")).all():
            raise WireError(
                f"head from sender {header.sender} refused: it contains NaN or infinite values"
            )
        total.rows[header.sender] = message.payload.copy()
        intake.note(header.sender)

    def close(self, state: State, total: ReceivedHeads) -> ExchangeOutcome:
        """The state with all heads, for the testers."""
        senders = np.array(sorted(total.rows), np.int64)
        rows = np.array([total.rows[sender] for sender in senders.tolist()], np.uint8).reshape(
            len(senders), self.size
        )
        heads = np.ascontiguousarray(rows[:, : 4 * self.place.size]).view("<f4")
        kept = {HEADS: heads, SENDERS: senders, COMMITMENTS: rows[:, 4 * self.place.size :].copy()}
        return ExchangeOutcome(state=replace(state, arrays={**state.arrays, **kept}))
