"""Gaussian noise as the HashComb paper prints it (its equations 16 to 18): a baseline without a
privacy guarantee.

The variance is 2 S² log(1.25 q/δ) / ε² with S = 4 Q G η: Q gradient steps per round with norm at
most G and learning rate η, and q the ratio of Q to the client's rows. No bound follows. Neither
gradients nor updates are clipped, so S bounds nothing. If S did bound an update, the formula would
hold for an epsilon of at most 1, and for one round alone. The paper's own values give a variance of
0.184 with the natural logarithm, and the 0.08 it states with the base-10 logarithm. Its program
multiplies a unit Gaussian by the variance instead of by the standard deviation.

Guarantees: none of privacy; the decoded mean is unbiased with that variance. Tacit's `gaussian` is
the sound codec. Source: Colombo et al., *A Quantization-based Technique for Privacy Preserving
Distributed Learning*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, assert_never

import numpy as np
from annotated_types import Gt, Le, Lt

from tacit.codecs import Codec, EncodedUpdate, Extent, Memory, OwnMechanism, wrap_payload
from tacit.codecs.distributions.gaussian_noise import STEPS, draw_gaussian
from tacit.codecs.plain import decode_mean
from tacit.codecs.sums import FloatSum
from tacit.plan.kinds import Count, Positive
from tacit.privacy.claim import Claim, Open
from tacit.randomness import ClientDraws, PublicDraws
from tacit.rows import Vector


@dataclass(frozen=True, kw_only=True)
class PaperGaussian:
    """The keys of `[codec.settings]`."""

    stated_epsilon: Positive = 2.0
    """The paper's epsilon. It bounds no privacy loss."""
    stated_delta: Annotated[float, Gt(0), Lt(1)] = 1e-3
    """The paper's delta."""
    gradient: Positive = 2.0
    """The paper's G, the norm of a gradient; nothing is clipped to it."""
    lr: Positive = 0.05
    """The paper's η, the local learning rate; it is not taken from `local.lr`."""
    steps: Count = 1
    """The paper's Q, the gradient steps of one round."""
    row_ratio: Annotated[float, Gt(0), Le(1)] = 0.008
    """The paper's q, Q over the rows of a client."""
    logarithm: Literal["natural", "ten"] = "natural"
    """The logarithm of the formula; `ten` gives the variance that the paper states."""
    factor: Literal["deviation", "variance"] = "deviation"
    """The factor of a unit Gaussian; the paper's program uses the `variance`."""

    def __post_init__(self) -> None:
        if 1.25 * self.row_ratio <= self.stated_delta:
            raise ValueError(
                "row_ratio must exceed 0.8 stated_delta, or the printed variance is not positive;"
                f" got row_ratio {self.row_ratio:g} with stated_delta {self.stated_delta:g}"
            )


def make(settings: PaperGaussian, extent: Extent) -> Codec:
    """Build the codec that adds the printed noise to an unclipped update."""
    stddev = compute_stddev(settings)

    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        noise = draw_gaussian(own, len(update)) * (stddev / STEPS)
        return wrap_payload((update + noise).astype("<f4").view(np.uint8))

    return Codec(
        name="paper_gaussian",
        payload_size=lambda dim: 4 * dim,
        encoder=encode,
        empty=FloatSum,
        decoder=decode_mean,
        clip_update=lambda update: update,
        variance=lambda update: np.full(len(update), stddev**2),
        claims=lambda dim, cohort: (_claim(settings, stddev),),
    )


def compute_variance(settings: PaperGaussian) -> float:
    """The variance that the paper's formula gives."""
    sensitivity = 4 * settings.steps * settings.gradient * settings.lr
    ratio = 1.25 * settings.row_ratio / settings.stated_delta
    match settings.logarithm:
        case "natural":
            wanted = math.log(ratio)
        case "ten":
            wanted = math.log10(ratio)
        case _:
            assert_never(settings.logarithm)
    return 2 * sensitivity**2 * wanted / settings.stated_epsilon**2


def compute_stddev(settings: PaperGaussian) -> float:
    """The standard deviation of the noise: the square root of the variance or, as in the paper's
    program, the variance.
    """
    variance = compute_variance(settings)
    match settings.factor:
        case "deviation":
            return math.sqrt(variance)
        case "variance":
            return variance
        case _:
            assert_never(settings.factor)


def _claim(settings: PaperGaussian, stddev: float) -> Claim:
    called = (
        f"its paper calls that ({settings.stated_epsilon:g},"
        f" {settings.stated_delta:g})-differential privacy"
    )
    return Claim(
        mechanism=(
            f"unclipped numbers, each with Gaussian noise (σ = {stddev:.3g}; {called}, but nothing"
            " is bounded)"
        ),
        event=Open(),
        unit="update",
        relation="replace all rows of one client",
        view="server",
        trust=("the server and everyone who reads its traffic",),
        rests_on="nobody",
        source="Colombo et al., equations 16 to 18: no update is clipped, so no bound follows",
    )


paper_gaussian = OwnMechanism(settings=PaperGaussian, make=make)
