"""The types of a round. Everything that crosses between a server and its clients is an exchange,
and a round is a short list of them. Nothing here knows where rows are or how bytes travel.

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
"""Public names of clients, in the order in which their responses are added."""

Arrays = dict[str, NDArray[Any]]
"""Arrays by name."""

Foreseen = dict[str, NDArray[np.float32]]
"""What some clients would send, by the name of the exchange, a row for each of them."""

Tick = Callable[[int], None]
"""Called with the number of clients that are done."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What the server knows after an exchange: the model (None while only clients can decode it),
    the optimiser's state, the cohort, the sum that helpers must complete, commitments of clients,
    and arrays that an exchange leaves for the next.
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
    """What the server requests, and from whom: public bytes, the same for everybody. `commitments`
    are what responses must match.

    A request may be for a chunk of the cohort; then `everyone` is the whole cohort. `digest` is
    SHA-256 over the frame; with exchange and round it identifies everything in a request that a
    client's message depends on. The size of the cohort determines the privacy loss of a response
    and changes no message. The digest is computed once for all chunks of a cohort.
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
        """The intake for responses to this request."""
        return Intake(
            self.to.tolist(),
            self.round_no,
            largest_weight,
            commitments=self.commitments,
            everyone=self.everyone,
        )


def _digest(frame: Frame) -> str:
    """SHA-256 of a request's kind, dimension, weight and payload; the run's name is not part of it."""
    header = messages.parse(*frame).header
    found = hashlib.sha256(f"{header.codec}\x00{header.dim}\x00{header.weight}\x00".encode())
    found.update(frame[1])
    return found.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A response that was not added, and why; `sender` is a client, or a site by name."""

    sender: int | str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """The sum of the responses, how many clients responded, their bytes, and what was refused.

    `bytes_down` is set where the request was not sent to each client separately, as between sites.
    """

    total: Any
    clients: int
    bytes_up: int
    refused: tuple[Refusal, ...] = ()
    bytes_down: int | None = None

    def merged(self, other: Gathered) -> Gathered:
        """Merge two results; the other's sum is consumed."""
        self.total.merge(other.total)
        clients, bytes_up = self.clients + other.clients, self.bytes_up + other.bytes_up
        return replace(
            self, clients=clients, bytes_up=bytes_up, refused=(*self.refused, *other.refused)
        )


@dataclass(frozen=True, kw_only=True)
class ExchangeOutcome:
    """The server's next state, and the entries for the record."""

    state: State
    notes: tuple[record.Entry, ...] = ()


class RoundLost(Exception):  # noqa: N818 - the run goes on
    """A round that cannot be completed: its clients are charged and the model stays as it was."""


class Exchange(Protocol):
    """One request of the server to its clients, or with `asks_helpers` to the helpers of secure
    aggregation. `carries_model` says that the request begins with the model of the round, `trains` that clients train to respond.
    """

    name: str
    asks_helpers: bool = False
    carries_model: bool = True
    trains: bool = False

    def takes_place(self, round_no: int) -> bool:
        """Whether a round has this exchange; server and sites agree on it by the plan."""
        return True

    def skip(self, state: State) -> ExchangeOutcome:
        """The outcome of a round without this exchange."""
        return ExchangeOutcome(state=state)

    def claims(self, clients: int) -> tuple[Claim, ...]:
        """The privacy claims of one response, if `clients` clients respond."""

    def build_request(self, state: State) -> Request:
        """Build the request; runs at the server."""

    def respond(self, client: Any, request: Request) -> Frame | None:
        """Compute one client's response, or None if it has nothing to send; runs at the client's
        site (`site.Client`).
        """

    def respond_many(self, site: Any, worker: Any, request: Request) -> Gathered:
        """The sum of the clients' responses; runs at their site (`site.Site`). An exchange may be
        faster than one client after the other, with the same bits.
        """
        return respond_one_by_one(self, site, worker, request)

    def measure_response(self, request: Request) -> int:
        """Bytes of the payload of one response, as far as they matter to its travel time."""
        return 0

    def count_asked(self, request: Request, everyone: int) -> int:
        """The number of clients by which the privacy loss of a response is computed, as far as the
        request itself states it; `everyone` is what the server claims.
        """
        return everyone

    def foresee(self, site: Any, worker: Any, request: Request, names: Names) -> Foreseen:
        """What some clients would honestly send in this round, one row each, by exchange; for
        attackers that collude before anybody responds.
        """
        return {}

    def empty(self) -> Any:
        """The empty sum."""

    def pack_total(self, total: Any) -> Arrays:
        """The sum of some responses as arrays, for another process."""
        arrays: Arrays = total.to_arrays()
        return arrays

    def unpack_total(self, arrays: Arrays) -> Any:
        """The sum that another process packed; raise WireError if the arrays are not one."""
        total = self.empty()
        total.add_arrays(arrays)
        return total

    def receive(self, intake: Intake, total: Any, frame: Frame) -> None:
        """Check one response and add it; raise WireError, with nothing added, if it does not match
        the agreement.
        """

    def close(self, state: State, total: Any) -> ExchangeOutcome:
        """Turn the sum into the next state; runs at the server."""

    def lose(self, state: State) -> State:
        """The state after a lost round, given the one before it: the model is unchanged."""
        return state


class Carrier(Protocol):
    """Takes exchanges to clients and returns the sums: a simulation on one machine, or a network of
    sites.
    """

    clients: int

    def willing(self, cohort: Names) -> Names:
        """The clients of the cohort that can respond: those with rows."""

    def carry(self, exchange: Exchange, request: Request, tick: Tick) -> Gathered:
        """The sum of the clients' responses, added in the order of their names; raise RoundLost if
        the round cannot be completed any more.
        """

    def read(self, request: Request) -> Vector | None:
        """The model that clients decode from a request; None where the server must not know it."""


def respond_one_by_one(exchange: Exchange, site: Any, worker: Any, request: Request) -> Gathered:
    """Sum the responses of some clients: each responds separately, and each response is checked and
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
    """Sum some responses, checked and added one by one; refused ones are named and left out."""
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
