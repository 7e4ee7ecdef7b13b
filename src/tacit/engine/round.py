"""A round, as nouns. Everything that crosses between a server and its clients is an exchange, and a round is a short list
of them. Nothing here knows where rows are or what carries the bytes.

An exchange has four halves of a sentence: the server asks, clients answer, answers are checked and added as they arrive,
and the server closes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit import record, wire
from tacit.aggregate import Intake
from tacit.claim import Claim
from tacit.errors import WireError
from tacit.rows import Vector
from tacit.wire import Frame

Names = NDArray[np.int64]
"""Public names of clients, in the order in which their answers are added."""

Tick = Callable[[int], None]
"""Hears how many clients are done."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What the server knows after an exchange: the model (None while only clients can read it), its optimiser's memory, who
    takes part in the round, the sum of a codec that has more to ask, what clients committed to sending, and whatever else an
    exchange leaves for the next."""

    round_no: int
    cohort: Names
    model: Vector | None
    optimizer: dict[str, Vector]
    pending: Any = None
    commitments: dict[int, bytes] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the server asks, and whom: public bytes, the same for everybody. `commitments` are what answers must fit.

    A request may be for a part of those the server asks; then `everyone` are all of them. `digest` is SHA-256 over what the frame
    asks; with the exchange and the round it names everything in a request that a client's message depends on. How many are asked
    decides what an answer costs, and changes no message. It is computed once, also for all parts of a request.
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
        """Return the same question to some of those it was for."""
        return replace(self, to=to, everyone=self.to if self.everyone is None else self.everyone)

    def intake(self, largest_weight: int) -> Intake:
        """Return who may answer, and how."""
        return Intake(
            self.to.tolist(), self.round_no, largest_weight, commitments=self.commitments, everyone=self.everyone
        )  # fmt: skip


def _digest(frame: Frame) -> str:
    """SHA-256 of what a frame asks: its kind, dimension, weight and payload; the run's name is no part of a question."""
    header = wire.parse(*frame).header
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
    """What came back: the sum of the answers, how many clients answered, their bytes, and what was refused.

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
        return replace(self, clients=clients, bytes_up=bytes_up, refused=(*self.refused, *other.refused))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an exchange leaves behind: the server's next state, and what the record should say."""

    state: State
    notes: tuple[record.Entry, ...] = ()


class Exchange(Protocol):
    """One question of the server to its clients."""

    name: str

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """Return what one answer costs its client, when so many clients answer."""

    def ask(self, state: State) -> Request:
        """Return the question; runs at the server."""

    def answer(self, client: Any, request: Request) -> Frame | None:
        """Return one client's answer, or None if it has nothing to say; runs at the client's site (`site.Client`)."""

    def empty(self) -> Any:
        """Return the sum of no answers."""

    def receive(self, intake: Intake, total: Any, frame: Frame) -> None:
        """Check one answer and add it; raise WireError, with nothing added, if it is not what was agreed on."""

    def close(self, state: State, total: Any) -> Outcome:
        """Return what follows from the sum; runs at the server."""


class Carrier(Protocol):
    """Takes exchanges to clients and brings the sums back: a simulation on one machine, or a network of sites."""

    clients: int

    def willing(self, cohort: Names) -> Names:
        """Return those of the cohort who have something to say: a client without rows is not asked."""

    def carry(self, exchange: Exchange, request: Request, tick: Tick) -> Gathered:
        """Return what the asked clients answered, added up in the order of their names."""

    def read(self, request: Request) -> Vector | None:
        """Return the model a request stands for to clients; None where that is not the server's to know."""


def gather(exchange: Exchange, intake: Intake, frames: list[Frame]) -> Gathered:
    """Return the sum of some answers, checked and added one by one; what is refused is named and left out."""
    total, refused = exchange.empty(), []
    for frame in frames:
        try:
            exchange.receive(intake, total, frame)
        except WireError as error:
            refused.append(Refusal(sender=wire.sender_of(frame), reason=str(error)))
    added = len(frames) - len(refused)
    return Gathered(total=total, clients=added, bytes_up=sum(map(wire.size, frames)), refused=tuple(refused))
