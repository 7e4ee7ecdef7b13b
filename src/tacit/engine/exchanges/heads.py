"""Contributors send their last layer after a few local steps, so that testers can say whether it helps them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit import local, plan, wire
from tacit.aggregate import Intake
from tacit.claim import Claim, Event, Gaussian, Open
from tacit.engine.exchanges.train import Train
from tacit.engine.round import Outcome, Request, State
from tacit.engine.site import Client
from tacit.errors import WireError
from tacit.gaussian_loss import multiplier_for
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
        self.size = 4 * place.size + (_DIGEST if settings.aggregate == "updates" else 0)

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """Return what a head costs its contributor."""
        return (claim(self.settings),)

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
        change = WholeUpdate(self.honest(client, model, request.round_no).ravel())
        sent = site.behaviour.sends(seat, change, request.round_no, self.name)
        parts = [sent.row.astype("<f4").view(np.uint8)]
        if self.settings.aggregate == "updates":
            parts.append(np.frombuffer(self.train.committed(client, request), np.uint8))
        header = wire.Header(terms.run, request.round_no, seat.name, self.name, terms.dim, site.weight(seat), self.size)
        return wire.frame(header, np.concatenate(parts))

    def honest(self, client: Client, model: Vector, round_no: int) -> local.Matrix:
        """Return how the head changes by training on the client's rows, clipped and with noise as the plan says."""
        settings, site, seat = self.settings, client.site, client.seat
        rows, labels = site.seen_by_head(model, site.behaviour.trains(seat, round_no))
        first = self.place.matrix(model)
        steps = Steps(epochs=settings.epochs, lr=settings.lr, divide_by=settings.batch_rows)
        if settings.protect == "nothing":
            return local.trained(rows, labels, first, steps)
        assert settings.clip is not None
        random = seat.own.noise(self.agreement.identity, round_no, self.name).generator()
        scale = noise_multiplier(settings) * settings.clip
        if settings.protect == "record":
            return local.trained(rows, labels, first, steps._replace(clip=settings.clip, noise=scale), random)
        change = local.trained(rows, labels, first, steps)
        change *= min(1.0, settings.clip / max(float(np.linalg.norm(change)), 1e-30))
        return np.asarray(change + random.normal(0, 2 * scale, change.shape), np.float32)

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


def noise_multiplier(settings: plan.Filter) -> float:
    """Return the noise of one step, in clips: all steps of a round together cost the plan's epsilon."""
    assert settings.epsilon is not None
    steps = settings.epochs if settings.protect == "record" else 1
    return multiplier_for(settings.epsilon, settings.delta) * float(np.sqrt(steps))


def claim(settings: plan.Filter) -> Claim:
    """Return what one head costs its contributor."""
    kind = {
        "nothing": "last layer in the clear",
        "client": "clipped last layer with Gaussian noise",
        "record": "last layer with Gaussian noise on the sum of clipped gradients of its rows",
    }[settings.protect]
    # Whoever knows what a client might send can test it by the digest; it is made of nothing but the encoded update.
    digest = ", with a digest of the update, which is covered by the update's own codec and nothing else"
    event: Event = Open()
    if settings.epsilon is not None:
        event = Gaussian(multiplier_for(settings.epsilon, settings.delta))
    return Claim(
        mechanism=f"{kind}, sent to all testers{digest if settings.aggregate == 'updates' else ''}",
        event=event,
        unit="head",
        relation="add or remove one row" if settings.protect == "record" else "replace all rows of one client",
        view="everyone",
        trust=("all testers",) if settings.protect == "nothing" else ("nobody; the noise is a floating-point Gaussian",),
        source="analytic Gaussian mechanism; after Rokvic et al., who state neither clip nor noise",
    )
