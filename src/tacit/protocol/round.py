"""A round, as nouns. Everything that crosses between a server and its clients is an exchange, and a
round is a short list of them. Nothing here knows where rows are or what carries the bytes.

An exchange has four steps: the server sends a request, clients respond, responses are checked and
added as they arrive, and the server closes the exchange.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import WireError
from tacit.privacy.claim import Claim
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.messages import Frame
from tacit.rows import Vector
from tacit.runs import record

Names = NDArray[np.int64]
"""Public names of clients, in the order in which their answers are added."""

Foreseen = dict[str, NDArray[np.float32]]
"""What some clients would send, by the name of the exchange, a row for each of them."""

Tick = Callable[[int], None]
"""Hears how many clients are done."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What the server knows after an exchange: the model (None while only clients can read it), its
    optimiser's memory, who takes part in the round, the sum of a codec that has more to ask, what
    clients committed to sending, and whatever else an exchange leaves for the next.
    """

    round_no: int
    cohort: Names
    model: Vector | None
    optimizer: dict[str, Vector]
    pending: Any = None
    commitments: dict[int, bytes] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the server asks, and whom: public bytes, the same for everybody. `commitments` are what
    answers must fit.

    A request may be for a chunk of the cohort; then `everyone` is the whole cohort. `digest`
    is SHA-256 over what the frame asks; with the exchange and the round it names everything in a
    request that a client's message depends on. How many are asked decides what an answer costs, and
    changes no message. It is computed once, also for all chunks of a cohort.
    """

    exchange: str
    round_no: int
    to: Names
    frame: Frame
    commitments: dict[int, bytes] = field(default_factory=dict)
    everyone: Names | None = None
    digest: str = ""

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", _digest(self.frame))

    def part(self, to: Names) -> Request:
        """The same request to a chunk of its cohort."""
        return replace(self, to=to, everyone=self.to if self.everyone is None else self.everyone)

    def intake(self, largest_weight: int) -> Intake:
        """Return who may answer, and how."""
        return Intake(
            self.to.tolist(),
            self.round_no,
            largest_weight,
            commitments=self.commitments,
            everyone=self.everyone,
        )


def _digest(frame: Frame) -> str:
    """SHA-256 of what a frame asks: its kind, dimension, weight and payload; the run's name is no
    part of a question.
    """
    header = messages.parse(*frame).header
    found = hashlib.sha256(f"{header.codec}\x00{header.dim}\x00{header.weight}\x00".encode())
    found.update(frame[1])
    return found.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An answer that was not added, and why; `sender` is a client, or a site by its name."""

    sender: int | str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """What came back: the sum of the answers, how many clients answered, their bytes, and what was
    refused.

    `bytes_down` is there where the question did not go to each client by itself, as between sites.
    """

    total: Any
    clients: int
    bytes_up: int
    refused: tuple[Refusal, ...] = ()
    bytes_down: int | None = None

    def merged(self, other: Gathered) -> Gathered:
        """Return both together; the other's sum is used up."""
        self.total.merge(other.total)
        clients, bytes_up = self.clients + other.clients, self.bytes_up + other.bytes_up
        return replace(
            self, clients=clients, bytes_up=bytes_up, refused=(*self.refused, *other.refused)
        )


@dataclass(frozen=True, kw_only=True)
class ExchangeOutcome:
    """What an exchange leaves behind: the server's next state, and what the record should say."""

    state: State
    notes: tuple[record.Entry, ...] = ()


class Exchange(Protocol):
    """One question of the server to its clients, or with `asks_helpers` to the helpers of a secure
    aggregation. `carries_model` says that its request begins with the model of the round.
    """

    name: str
    asks_helpers: bool = False
    carries_model: bool = True

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """Return what one answer costs its client, when so many clients answer."""

    def build_request(self, state: State) -> Request:
        """Return the question; runs at the server."""

    def respond(self, client: Any, request: Request) -> Frame | None:
        """Return one client's answer, or None if it has nothing to say; runs at the client's site
        (`site.Client`).
        """

    def respond_many(self, site: Any, worker: Any, request: Request) -> Gathered:
        """The sum of the asked clients' answers; runs at their site (`site.Site`). An exchange may
        be faster than one client after the other, and gives the same bits.
        """
        return respond_one_by_one(self, site, worker, request)

    def count_asked(self, request: Request, everyone: int) -> int:
        """By how many clients an answer's cost is computed, as far as the request itself says it;
        `everyone` is what the server says beside it.
        """
        return everyone

    def foresee(self, site: Any, worker: Any, request: Request, names: Names) -> Foreseen:
        """What some clients would honestly send in this round, a row each, by exchange, for
        attackers who agree on what they send before anybody answers.
        """
        return {}

    def empty(self) -> Any:
        """Return the sum of no answers."""

    def receive(self, intake: Intake, total: Any, frame: Frame) -> None:
        """Check one answer and add it; raise WireError, with nothing added, if it is not what was
        agreed on.
        """

    def close(self, state: State, total: Any) -> ExchangeOutcome:
        """Return what follows from the sum; runs at the server."""


class Carrier(Protocol):
    """Takes exchanges to clients and brings the sums back: a simulation on one machine, or a
    network of sites.
    """

    clients: int

    def willing(self, cohort: Names) -> Names:
        """Return those of the cohort who have something to say: a client without rows is
        not asked.
        """

    def carry(self, exchange: Exchange, request: Request, tick: Tick) -> Gathered:
        """Return what the asked clients answered, added up in the order of their names."""

    def read(self, request: Request) -> Vector | None:
        """Return the model a request stands for to clients; None where that is not the server's to
        know.
        """


def respond_one_by_one(exchange: Exchange, site: Any, worker: Any, request: Request) -> Gathered:
    """The sum of some clients' answers: each answers for itself, and each answer is checked and
    added.
    """
    intake = request.intake(site.agreement.largest_weight)
    total, clients, bytes_up, refused = exchange.empty(), 0, 0, []
    for name in request.to.tolist():
        frame = exchange.respond(site.client(name, worker), request)
        if frame is None:
            continue
        bytes_up += messages.size(frame)
        try:
            exchange.receive(intake, total, frame)
            clients += 1
        except WireError as error:
            refused.append(Refusal(sender=name, reason=str(error)))
    return Gathered(total=total, clients=clients, bytes_up=bytes_up, refused=tuple(refused))


def gather(exchange: Exchange, intake: Intake, frames: list[Frame]) -> Gathered:
    """Return the sum of some answers, checked and added one by one; what is refused is named and
    left out.
    """
    total, refused = exchange.empty(), []
    for frame in frames:
        try:
            exchange.receive(intake, total, frame)
        except WireError as error:
            refused.append(Refusal(sender=messages.read_sender(frame), reason=str(error)))
    added = len(frames) - len(refused)
    return Gathered(
        total=total, clients=added, bytes_up=sum(map(messages.size, frames)), refused=tuple(refused)
    )
