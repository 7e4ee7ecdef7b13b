"""The contract of a codec: its functions, the sum of its messages, its claims and its traits."""

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
"""Bytes of a message. Nothing writes into them once the message is built."""

TRUST_IN_CLIENTS = (
    "that other sites have as many clients as they state, and that these add their noise: the"
    " noise of an invented client would be missing"
)
"""The assumption of a claim where clients add the noise together under secure aggregation."""

Memory = dict[str, NDArray[Any]]
"""Arrays that a client keeps for a codec between responses, by name; empty for most codecs."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Upper bounds on one client's update in three norms; infinite where nothing bounds it."""

    l1: float = math.inf
    l2: float = math.inf
    largest: float = math.inf


@dataclass(frozen=True, kw_only=True)
class Extent:
    """The size of a run: its rounds, its cohorts and the layers of its model.

    `cohort` is the number of clients per round. `layers` are the numbers of parameters of the
    model's layers. `helpers` is the number of helpers of secure aggregation; 0 if the server adds
    up messages itself. `clients` is the largest number of clients that can respond in a round,
    where cohorts differ in size. `rate` is the probability with which each client is sampled in a
    round, independently and known only to the server; 1 without such sampling. `participations` is
    the largest number of rounds in which a client responds, and `separation` the smallest number of
    rounds from one response to the next. The client's own ledger enforces both.
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
        """Compute the extent of a plan's run."""
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
        """Largest number of rounds in which a client responds."""
        return min(self.rounds, self.participations or self.rounds)

    @property
    def max_clients(self) -> int:
        """Largest number of clients that can respond in a round."""
        return max(self.cohort, self.clients)


class Sum(Protocol):
    """A sum of payloads. Sums over disjoint sets of clients can be merged."""

    weight: int

    def add(self, payload: Payload, weight: int, public: PublicDraws) -> None:
        """Add one client's payload `weight` times; `public` is the message's randomness that both
        sides know.
        """

    def merge(self, other: Self) -> None:
        """Add another sum to this one. The other must not be used afterwards."""

    def pack(self) -> Payload:
        """Serialise the sum."""

    def add_packed(self, payload: Payload, weight: int) -> None:
        """Add a serialised sum of that weight; raise WireError if the bytes are not one."""


@dataclass(frozen=True, kw_only=True)
class EncodedUpdate:
    """A client's message, and the memory that the client keeps from now on."""

    payload: Payload
    memory: Memory


class UpdateEncoder(Protocol):
    """Encodes an update at the client. `own` is the client's randomness, `public` is known to the
    server too.
    """

    def __call__(
        self, update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        """Encode an update."""


class SumDecoder(Protocol):
    """Decodes a sum into the mean update; `own` is the randomness of the party that decodes."""

    def __call__(self, total: Any, *, public: PublicDraws, own: ServerDraws) -> Vector:
        """Decode the mean update."""


class RoundsDecoder(Protocol):
    """Decodes the sum of one round where the noise of several rounds is correlated. The draws of
    each round lie below `own`.
    """

    def __call__(self, total: Any, round_no: int, *, own: ServerDraws) -> Vector:
        """Decode the mean update of a round."""


@dataclass(frozen=True, kw_only=True)
class IntegerCoding:
    """Messages as vectors of integers, of which only the sum is needed: what secure aggregation can
    add.

    A message has `size(dim)` integers, added modulo 2^`bits(dim)` (16, 32 or 64). `read(payload,
    dim)` reads them from a message. `build_sum(numbers, clients)` builds the codec's sum from the
    aggregated integers, lifted to signed ones, and the number of clients. `noise(dim, own)` draws
    what each helper adds to its share of the sum; None if clients add all noise. `bound(dim,
    clients)` bounds the absolute value of every integer in the sum of `clients` honest clients,
    with all noise; None if there is no bound below the modulus.
    """

    bits: Callable[[int], int]
    size: Callable[[int], int]
    read: Callable[[Payload, int], NDArray[Any]]
    build_sum: Callable[[NDArray[np.int64], int], Sum]
    noise: Callable[[int, Draws], NDArray[np.int64]] | None = None
    bound: Callable[[int, int], int] | None = None


@dataclass(frozen=True, kw_only=True)
class Codec:
    """Turns an update into bytes, and the sum of many such messages into their mean update.

    `encode` runs at the client, with the client's memory and two kinds of randomness: the client's
    own, which nobody else may know, and the message's public randomness, which the server can
    repeat. The two have different types. `encoder` and `decoder` are the codec's functions;
    `encode` and `decode` check the types of the draws first. `empty(dim)` is the sum of no
    messages. Only the codec knows the layout of a payload, so only its sum reads one. `decode`
    turns a sum into the mean update, with public randomness and the randomness of the party that
    decodes. That party is the server or, with `decoded_by = "clients"`, every client by itself,
    from the sum that the server sends back unread. A codec whose clients share a secret has
    `keyed(secret, round_no)`, which builds the clients' codec of one round. The agreement and the
    server hold the codec without the secret; its own `encode` and `decode` refuse.

    `of` says what is encoded and decoded: updates, or the weights after training, whose mean is the
    next model itself.

    `bound` is what clipping guarantees before encoding. `unbiased` says that decoding gives the
    clipped update on average over the codec's randomness; `variance` is the variance of each
    coordinate. `takes_updates` says that the sum also adds unencoded updates (`add_row`,
    `add_sparse`), with the same result as encoding them first: a shortcut of the simulator.
    `claims(dim, cohort)` are the claims about one update of `dim` parameters, when the messages of
    `cohort` clients are added up. `sum_noise(dim)` is the standard deviation of the noise that
    decoding adds to each coordinate of the sum, if it adds any; then an empty sum is decoded too.
    `at_ends` computes which share of a decoded sum's values lay in the outermost channels, for a
    codec with a range. `integers` is set where messages are vectors of integers, so that secure
    aggregation can add them. `known_noise(dim)` is the standard deviation of all noise in a
    coordinate of the sum, if it is public; a released model may take it into account.
    `rounds_decoder(total, round_no, own=…)` replaces `decoder` where the noise of different
    rounds is correlated; the draws of each round lie below `own`. `min_clients` is the smallest
    number of clients whose sum protects each of them: with fewer responses the model does not
    change.
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
    rounds_decoder: RoundsDecoder | None = None
    min_clients: int = 1

    def encode(
        self, update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        """Encode a client's update; raise TypeError if the client's draws are of a kind that the
        server could know.
        """
        require(own, ClientDraws)
        require(public, PublicDraws)
        return self.encoder(update, memory, own=own, public=public)

    def prepare(self, model: Vector, update: Vector) -> Vector:
        """Select what is encoded: the update, or the weights that it leads to."""
        match self.of:
            case "updates":
                return update
            case "weights":
                return model + update
            case _:
                assert_never(self.of)

    def compute_update(self, model: Vector, mean: Vector) -> Vector:
        """Compute the update of the model from a decoded mean."""
        match self.of:
            case "updates":
                return mean
            case "weights":
                return mean - model
            case _:
                assert_never(self.of)

    def decode(self, total: Any, *, public: PublicDraws, own: ServerDraws) -> Vector:
        """Decode the mean update; raise TypeError if the draws are not the decoding party's own."""
        require(public, PublicDraws)
        require(own, ServerDraws)
        return self.decoder(total, public=public, own=own)

    def decode_over_rounds(self, total: Any, round_no: int, *, own: ServerDraws) -> Vector:
        """Decode the mean update of a round whose noise is correlated with that of others; raise
        TypeError if the draws are not the decoding party's own.
        """
        require(own, ServerDraws)
        assert self.rounds_decoder is not None
        return self.rounds_decoder(total, round_no, own=own)


def wrap_payload(payload: Payload) -> EncodedUpdate:
    """Build the message of a codec without memory."""
    return EncodedUpdate(payload=payload, memory={})
