"""Canaries: artificial clients of a private run, to measure what its models reveal about
membership.

Each has a random direction with the largest L2 norm that the codec allows; a coin flip decides
whether it takes part. Its sign alternates as +, -, -, + over its rounds, so that it does not bias
the model, and contributions of the rows or of a drift of the model cancel in its score. A canary's
score is the inner product of its direction with the released means, with these signs. All draws
have an address, so a resumed run has the same canaries. The noise treats canaries like any other
client, and only the auditor learns anything from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.codecs import Extent, Sum
from tacit.codecs.distributions.banded import FINE_BITS, choose_coefficients
from tacit.plan import DPSum, Plan
from tacit.privacy.accounting import one_run
from tacit.protocol.agreement import Agreement
from tacit.randomness import ClientDraws, Draws, PublicDraws
from tacit.rows import Vector
from tacit.runs import record

SEEN = "canaries"
"""State passed from one exchange to the next: the inner product of each released mean with each
canary's direction, one row per round.
"""
NAME = "canaries"
"""The audit's name in the record."""
_SIGNS = (1, -1, -1, 1)
_TOGETHER = 64


@dataclass(frozen=True, kw_only=True)
class Canaries:
    """The canaries of a run, with its agreement and their own randomness. `extent` says how often a
    client takes part.

    Where a client must wait some rounds between two responses, a canary starts in one of the first
    rounds and responds as soon as it may. `bands` are those of the noise that is correlated over
    rounds.
    """

    count: int
    terms: Agreement
    draws: Draws
    extent: Extent
    bands: tuple[int, ...] = ()

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which canaries take part."""
        return (self.draws.at("inside").words(self.count) >> np.uint64(63)).astype(bool)

    def join(self, total: Sum, round_no: int) -> None:
        """Add the messages of the participating canaries to the sum of a round.

        A codec without randomness encodes each coordinate of a canary as the same integer, up to
        its sign, so the sum is that integer times a sum of signs.
        """
        signs = self.signs(round_no) * self.inside * self._select_sampled(round_no)
        sums = np.zeros(self.terms.dim, np.int64)
        for sign in (1, -1):
            some = np.flatnonzero(signs == sign)
            for _, bits in self._bits(some):
                sums += 2 * sign * bits.sum(axis=0, dtype=np.int64)
            sums -= sign * len(some)
        sums *= self._encode(np.full(self.terms.dim, self._size, np.float32))
        total.add_packed(sums.astype("<i8").view(np.uint8), int(np.count_nonzero(signs)))

    def signs(self, round_no: int) -> NDArray[np.int64]:
        """The sign with which each canary takes part in a round; 0 if it does not."""
        apart = self.extent.separation
        since = (
            round_no
            - 1
            - (self.draws.at("begin").words(self.count) % np.uint64(apart)).astype(np.int64)
        )
        turn, place = since // apart, since % apart == 0
        return np.where(
            place & (turn >= 0) & (turn < self.extent.max_responses), np.array(_SIGNS)[turn % 4], 0
        )

    def seen(self, before: dict[str, NDArray[Any]], mean: Vector) -> dict[str, NDArray[Any]]:
        """Extend the state of an exchange by the inner products of a released mean with each
        canary's direction.
        """
        along = np.empty((1, self.count), np.float64)
        for numbers, bits in self._bits(np.arange(self.count)):
            along[0, numbers] = 2.0 * (bits.astype(np.float32) @ mean)
        along = self._size * (along - mean.sum(dtype=np.float64))
        known = before.get(SEEN, np.empty((0, self.count), np.float64))
        return {**before, SEEN: np.concatenate([known, along])}

    def direction(self, number: int) -> Vector:
        """The unencoded update of one canary, with a positive sign."""
        ((_, bits),) = self._bits(np.array([number]))
        return np.asarray(self._size * (2 * bits[0].astype(np.float32) - 1), np.float32)

    def list_audits(self, plan: Plan, arrays: dict[str, NDArray[Any]]) -> list[record.Audited]:
        """The record's entries for what a run's rounds left; none before the first round."""
        settings = plan.codec
        if SEEN not in arrays or not isinstance(settings, DPSum):
            return []
        return [self.audited(arrays[SEEN], settings.epsilon, settings.delta)]

    def audited(self, seen: NDArray[np.float64], claimed: float, delta: float) -> record.Audited:
        """The record's entry: what the means of all rounds show about a claimed epsilon per run."""
        from scipy.signal import lfilter  # slow to load

        # Correlated noise is decorrelated first: C'C seen, over each canary's rounds.
        apart = lfilter(np.append(1.0, np.array(self.bands) / 2**FINE_BITS), [1.0], seen, axis=0)
        back = lfilter(
            np.append(1.0, np.array(self.bands) / 2**FINE_BITS), [1.0], apart[::-1], axis=0
        )[::-1]
        signs = np.stack([self.signs(place + 1) for place in range(len(seen))])
        found = one_run.audit_scores((signs * back).sum(axis=0), self.inside, claimed, delta)
        return record.Audited(name=NAME, findings={"sentences": found.sentences, **asdict(found)})

    def _select_sampled(self, round_no: int) -> NDArray[np.bool_]:
        if self.extent.rate == 1:
            return np.ones(self.count, bool)
        return self.draws.at("cohort", round_no).words(self.count) < np.uint64(
            int(self.extent.rate * 2**64)
        )

    @property
    def _size(self) -> np.float32:
        """Absolute value of each coordinate of a canary: random signs, scaled to the largest L2
        norm of an update.
        """
        return np.float32(self.terms.codec.bound.l2 / np.sqrt(self.terms.dim))

    def _encode(self, update: Vector) -> NDArray[np.int64]:
        sent = self.terms.codec.encode(
            update, {}, own=ClientDraws(b""), public=PublicDraws(b"")
        )  # it draws nothing
        return sent.payload.view("<i4").astype(np.int64)

    @cached_property
    def _packed(self) -> NDArray[np.uint8]:
        """The signs of all canaries, eight to a byte."""
        words = (self.terms.dim + 63) // 64
        return np.stack(
            [
                self.draws.at("direction", number).words(words).view(np.uint8)
                for number in range(self.count)
            ]
        )

    def _bits(
        self, numbers: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint8]]]:
        """Yield canaries and their signs as bits, in small groups."""
        for start in range(0, len(numbers), _TOGETHER):
            some = numbers[start : start + _TOGETHER]
            yield some, np.unpackbits(self._packed[some], axis=1, count=self.terms.dim)


def build_canaries(plan: Plan, agreement: Agreement, clients: int, draws: Draws) -> Canaries:
    """Build the canaries that a plan adds to its clients."""
    count, extent = plan.audit.canaries, Extent.of(plan, clients)
    assert count is not None
    is_banded = isinstance(plan.codec, DPSum) and plan.codec.noise == "banded"
    bands = (
        choose_coefficients(extent.rounds, min(extent.separation, extent.rounds))
        if is_banded
        else ()
    )
    return Canaries(
        count=count,
        terms=agreement,
        draws=draws.at("canaries", agreement.identity),
        extent=extent,
        bands=bands,
    )
