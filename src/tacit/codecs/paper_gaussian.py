"""Gaussian noise as the HashComb paper prints it (its equations 16 to 18), to compare with. It
keeps no epsilon.

The variance is 2 S² log(1.25 q/δ) / ε² with S = 4 Q G η: Q gradient steps a round of length at most
G and rate η, and q the ratio of Q to the client's rows. Why no bound follows: no gradient and no
update is clipped here, so S bounds nothing; if S did bound an update, the formula would hold for an
epsilon of at most 1, and for one round alone. The paper's own values give a variance of 0.184 with
the natural logarithm; the 0.08 it states comes out with the logarithm to base ten. Its program
multiplies a unit Gaussian by the variance instead of by its root.

Guarantees: none of privacy; the decoded mean is unbiased with that variance. `codecs/gaussian.py`
is the sound one. Source: Colombo et al., *A Quantization-based Technique for Privacy Preserving
Distributed Learning*.
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np

from tacit import plan
from tacit.codecs.contract import Codec, EncodedUpdate, Memory, wrap_payload
from tacit.codecs.distributions.gaussian_noise import STEPS, draw_gaussian
from tacit.codecs.plain import decode_mean
from tacit.codecs.sums import FloatSum
from tacit.privacy.claim import Claim, Open
from tacit.randomness import ClientDraws, PublicDraws
from tacit.rows import Vector


def make(settings: plan.PaperGaussian) -> Codec:
    """Return the codec that adds the printed noise to an update as it is."""
    stddev = stddev_of(settings)

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


def printed_variance(settings: plan.PaperGaussian) -> float:
    """Return the variance the paper's formula gives."""
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


def stddev_of(settings: plan.PaperGaussian) -> float:
    """Return the standard deviation of the noise: the root of the variance or, as in the paper's
    program, the variance.
    """
    variance = printed_variance(settings)
    match settings.factor:
        case "deviation":
            return math.sqrt(variance)
        case "variance":
            return variance
        case _:
            assert_never(settings.factor)


def _claim(settings: plan.PaperGaussian, stddev: float) -> Claim:
    called = (
        f"its paper calls that ({settings.stated_epsilon:g},"
        f" {settings.stated_delta:g})-differential privacy"
    )
    return Claim(
        mechanism=(
            f"unclipped numbers, each with Gaussian noise of {stddev:.3g} ({called}, but nothing is"
            " bounded)"
        ),
        event=Open(),
        unit="update",
        relation="replace all rows of one client",
        view="server",
        trust=("the server and everyone who reads its traffic",),
        rests_on="nobody",
        source="Colombo et al., equations 16 to 18: no update is clipped, so no bound follows",
    )
