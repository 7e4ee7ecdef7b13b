"""What both sides know before round one. Nothing in it is secret."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit import plan
from tacit.codecs import Codec
from tacit.errors import PlanError
from tacit.randomness import PublicDraws
from tacit.server import ServerOptimizer, build_optimizer

MOST_WEIGHT = 2**53
"""Weighted counts stay exact as long as all weights together are below this."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A run's public terms: its name, the model's size, the codec, the public randomness, the
    weights of clients.

    `identity` identifies the plan and rows of the run; it enters the addresses of noise, so that
    two runs never share any. `digest` covers everything that sites, helpers and server agreed on
    before round one. Between sites it equals the identity, unless noise comes from the plan's seed;
    a simulation has none. `largest_weight` is the largest weight of a client; a response with a
    larger one is refused. With `sum_at_site` a site sums the responses of its own clients before it
    sends anything. `optimizer` takes the step from a mean update to the next model, at the server
    or, if only clients can decode, at each site.
    """

    run: str
    identity: str
    dim: int
    codec: Codec
    public: PublicDraws
    server: plan.Server
    largest_weight: int = 1
    sum_at_site: bool = False
    digest: str | None = None
    optimizer: ServerOptimizer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "optimizer", build_optimizer(self.server))

    @property
    def binding(self) -> str:
        """What seals and signatures of a secure aggregation are bound to."""
        return self.digest or self.identity

    def _protects_sums_only(self, clients: int) -> bool:
        """Whether a single update has less noise than the codec claims: decoding adds it, or a
        promise rests on another party than the client.
        """
        claims = self.codec.claims(self.dim, clients)
        return self.codec.sum_noise is not None or any(
            claim.promises and claim.rests_on != "nobody" for claim in claims
        )

    def check(self, clients: int) -> None:
        """Raise PlanError if the weights of `clients` clients cannot be summed exactly, or if the
        rule needs single updates and the codec's noise is for a sum.
        """
        if self.server.one_by_one and self._protects_sums_only(clients):
            raise PlanError(
                f"server.rule = {self.server.rule!r} reads each update by itself, but the noise"
                f" of the codec {self.codec.name!r} is for a sum; use server.rule = 'mean'"
            )
        if clients * self.largest_weight >= MOST_WEIGHT:
            raise PlanError(
                f"server.weights = {self.server.weights!r} needs all weights together below 2^53,"
                f" got {clients:,} clients of up to {self.largest_weight:,}; use server.weights ="
                " 'capped'"
            )
