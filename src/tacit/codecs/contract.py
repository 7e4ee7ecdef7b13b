"""What every codec is: a few functions, the sum its messages add up to, and the claims that go with
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.privacy.claim import Claim
from tacit.randomness import ClientDraws, Draws, PublicDraws, ServerDraws, require
from tacit.rows import Vector

Payload = NDArray[np.uint8]
"""Bytes that belong to the message: nothing writes into them afterwards."""

TRUST_IN_CLIENTS = (
    "that other sites have as many clients as they say, and these add their noise: that of an"
    " invented client is missing"
)
"""What a promise rests on where clients make the noise together under secure aggregation."""

Memory = dict[str, NDArray[Any]]
"""What a client remembers of a codec between answers, by name; empty for most codecs."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The most one client's update can measure, in three norms; infinite where nothing
    bounds it.
    """

    l1: float = math.inf
    l2: float = math.inf
    largest: float = math.inf


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How long a run is, how many clients are asked in a round, and how large the layers of its
    model are, one by one.

    `helpers` is how many of them make a secure sum; 0 where the server adds up by itself. `clients`
    is the most that can answer a round, where cohorts differ in size. `rate` is the chance with
    which a client is asked in a round, by itself and unknown to all but the server; 1 where that is
    not so. `participations` is in how many rounds a client answers at most, and `separation` how
    many rounds lie at least from one to the next: its own ledger sees to both.
    """

    rounds: int
    cohort: int
    layers: tuple[int, ...] = ()
    helpers: int = 0
    clients: int = 0
    rate: float = 1.0
    participations: int | None = None
    separation: int = 1

    @classmethod
    def of(cls, job: plan.Plan, clients: int, layers: tuple[int, ...] = ()) -> Self:
        """Return the extent of a plan's run with so many clients."""
        server, ledger = job.server, job.ledger
        cohort = server.cohort_size or clients
        rate = min(1.0, cohort / clients) if server.cohort == "poisson" else 1.0
        return cls(
            rounds=server.rounds,
            cohort=cohort,
            layers=layers,
            helpers=job.helpers,
            clients=clients,
            rate=rate,
            participations=ledger.participations,
            separation=ledger.separation,
        )

    @property
    def max_responses(self) -> int:
        """Return how often a client answers at most."""
        return min(self.rounds, self.participations or self.rounds)

    @property
    def max_clients(self) -> int:
        """Return the most clients that can answer a round."""
        return max(self.cohort, self.clients)


class Sum(Protocol):
    """What many payloads add up to. Sums of disjoint sets of clients can be merged."""

    weight: int

    def add(self, payload: Payload, weight: int, public: PublicDraws) -> None:
        """Add one client's payload `weight` times; `public` is the randomness of that message both
        sides know.
        """

    def merge(self, other: Self) -> None:
        """Add another sum to this one; the other is used up."""

    def pack(self) -> Payload:
        """Return the sum as bytes, to cross a wire."""

    def add_packed(self, payload: Payload, weight: int) -> None:
        """Add a sum of that weight which crossed a wire; raise WireError if it is none."""


@dataclass(frozen=True, kw_only=True)
class EncodedUpdate:
    """A client's answer, and what the client remembers from now on."""

    payload: Payload
    memory: Memory


class UpdateEncoder(Protocol):
    """Turns an update into a message. Runs at the client; `own` is the client's randomness,
    `public` what the server knows too.
    """

    def __call__(
        self, update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        """Return the message and what the client remembers."""


class SumDecoder(Protocol):
    """Turns a sum into the mean update; `own` is the randomness of the party that decodes."""

    def __call__(self, total: Any, *, public: PublicDraws, own: ServerDraws) -> Vector:
        """Return the mean update."""


class RoundsDecoder(Protocol):
    """Decodes the sum of one round where noise of several rounds is correlated; the draws of each
    round lie below `own`.
    """

    def __call__(self, total: Any, round_no: int, *, own: ServerDraws) -> Vector:
        """Return the mean update of a round."""


@dataclass(frozen=True, kw_only=True)
class IntegerCoding:
    """What makes a codec fit for a secure sum: a message is a vector of whole numbers, and only
    their sum is needed.

    There are `size(dim)` numbers, added modulo 2^`bits(dim)` (16, 32 or 64). `of(payload, dim)`
    reads them from a message. `total` makes the codec's own sum of theirs, lifted to signed
    numbers, and of the number of clients in it. `noise(dim, own)` is what each helper adds to its
    part of the sum; None where clients make all noise there is. `largest(dim, clients)` is a bound
    on the absolute value of every number in the sum of `clients` honest clients, with all noise;
    None where there is none below the modulus.
    """

    bits: Callable[[int], int]
    size: Callable[[int], int]
    read: Callable[[Payload, int], NDArray[Any]]
    build_sum: Callable[[NDArray[np.int64], int], Sum]
    noise: Callable[[int, Draws], NDArray[np.int64]] | None = None
    bound: Callable[[int, int], int] | None = None


@dataclass(frozen=True, kw_only=True)
class Codec:
    """One way to turn an update into bytes, and the sum of many such messages into their mean
    update.

    `encode` runs at the client, with what the client remembers and two kinds of randomness: the
    client's own, which nobody may know, and the message's public one, which the server can repeat.
    The two have types of their own. `encoder` and `decoder` are the codec's functions; `encode` and
    `decode` check the types of the draws first. `empty(dim)` is the sum of no messages; only the
    codec knows how a payload is laid out, so only its sum reads one. `decode` turns a sum into the
    mean update, with public randomness and that of whoever decodes: the server, or with `decoded_by
    = "clients"` every client for itself, from the sum the server sends back unread. A
    codec whose clients share a secret has `keyed(secret, round_no)`: the codec as clients hold it
    in one round. What it is called on holds no secret, which is what the agreement and the server
    have; its own `encode` and `decode` refuse.

    `of` says what is encoded and decoded: updates, or the weights after training, whose mean is the
    next model itself.

    `bound` is what clipping makes sure of before encoding. `unbiased` says that decoding gives the
    clipped update back, over the codec's own randomness; `variance` is that of one coordinate.
    `takes_updates` says that the sum also adds updates as they are (`add_row`, `add_lines`), with
    the same result as encoding them first: a simulator's shortcut. `claims(dim, cohort)` is what
    one update of `dim` parameters costs its client when the answers of `cohort` clients are added
    up. `sum_noise(dim)` is the standard deviation of what decoding adds to each coordinate of the
    sum, if it adds noise; then the sum of nobody is decoded too. `at_ends` says of a decoded sum
    what share of its values lay in outermost channels, for a codec with a range. `whole` is there
    where messages add up as whole numbers, so that a secure sum can add them. `known_noise(dim)` is
    the standard deviation of all public noise in a coordinate of the sum, whoever adds it: a
    released model may take it into account. `decode_over_rounds(total, round_no, own=…)` is there
    where noise of different rounds goes together, and takes the place of `decode`; the draws of
    each round lie below `own`. `fewest` is the fewest clients whose sum says little enough about
    each: with fewer answers the model stays as it is.
    """

    name: str
    payload_size: Callable[[int], int]
    encoder: UpdateEncoder
    empty: Callable[[int], Sum]
    decoder: SumDecoder
    clip_update: Callable[[Vector], Vector]
    variance: Callable[[Vector], NDArray[np.float64]]
    claims: Callable[[int, int], tuple[Claim, ...]]
    decoded_by: Literal["server", "clients"] = "server"
    of: Literal["updates", "weights"] = "updates"
    keyed: Callable[[bytes, int], Codec] | None = None
    bound: Bound = Bound()
    unbiased: bool = True
    takes_updates: bool = False
    sum_noise: Callable[[int], float] | None = None
    at_ends: Callable[[Any], float] | None = None
    integers: IntegerCoding | None = None
    known_noise: Callable[[int], float] | None = None
    decode_over_rounds: RoundsDecoder | None = None
    min_clients: int = 1

    def encode(
        self, update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        """Return a client's message; raise TypeError if its own randomness could be known to the
        server.
        """
        require(own, ClientDraws)
        require(public, PublicDraws)
        return self.encoder(update, memory, own=own, public=public)

    def prepare(self, model: Vector, update: Vector) -> Vector:
        """Return what is encoded of a client that changed a model by an update."""
        match self.of:
            case "updates":
                return update
            case "weights":
                return model + update
            case _:
                assert_never(self.of)

    def compute_update(self, model: Vector, mean: Vector) -> Vector:
        """Return the update that a decoded mean stands for."""
        match self.of:
            case "updates":
                return mean
            case "weights":
                return mean - model
            case _:
                assert_never(self.of)

    def decode(self, total: Any, *, public: PublicDraws, own: ServerDraws) -> Vector:
        """Return the mean update of a sum; raise TypeError if the decoder's randomness is not its
        own.
        """
        require(public, PublicDraws)
        require(own, ServerDraws)
        return self.decoder(total, public=public, own=own)


def wrap_payload(payload: Payload) -> EncodedUpdate:
    """Return an answer of a codec that remembers nothing."""
    return EncodedUpdate(payload=payload, memory={})
