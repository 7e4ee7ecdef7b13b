"""A sequential test of contributors over voting rounds, with a stated error rate.

An accepted client gathers evidence against the hypothesis that its mean true vote is at least the
threshold, a rejected one against the hypothesis that it is at most the threshold. A round with a
sum of votes S, of squared factors Q and a noise variance N adds ±λ (S - threshold · Q) - λ²(Q + N)/2
to the client's evidence, which never falls below zero. A client changes sides when its evidence
reaches ln(R / error rate), for R voting rounds; then it starts again at zero.

Guarantee. A vote times its factor f lies in [-f, f], also if testers are drawn without replacement,
so by Hoeffding's lemma exp of the added number has an expectation of at most 1 under the
hypothesis. By Ville's inequality, the sum from a given round on ever reaches ln(R / error rate) with
probability at most error rate / R. Evidence is the largest sum over all R first rounds, so it ever
reaches that number with probability at most the error rate. The scheme is the CUSUM test of Page
(1954), with the bound of Lorden (1971). Its hypothesis is about what testers find, not about what a
client is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.server.votes import Ballots, Numbers

_DESIGN = 0.5
"""The distance between mean vote and threshold for which the test is fastest."""


class Evidence(NamedTuple):
    """Each client's evidence that it belongs on the other side, and whether it is rejected."""

    weights: Numbers
    rejected: NDArray[np.bool_]

    @staticmethod
    def none(clients: int) -> Evidence:
        """No evidence: everybody is accepted."""
        return Evidence(np.zeros(clients), np.zeros(clients, np.bool_))

    def take(self, clients: NDArray[np.int64]) -> Evidence:
        """The evidence about some clients."""
        return Evidence(self.weights[clients], self.rejected[clients])

    def put(self, clients: NDArray[np.int64], some: Evidence) -> Evidence:
        """This evidence, with that about some clients replaced."""
        weights, rejected = self.weights.copy(), self.rejected.copy()
        weights[clients], rejected[clients] = some
        return Evidence(weights, rejected)

    def add(
        self, ballots: Ballots, threshold: float, needed: float, *, everybody: bool = False
    ) -> Evidence:
        """Add a round of votes; clients whose evidence reaches `needed` change sides.

        With `everybody` all clients voted and no vote was randomised: then only the noise of their
        sum is random.
        """
        spread = np.asarray(ballots.noise if everybody else ballots.squares + ballots.noise)
        step = np.divide(
            _DESIGN * ballots.squares, spread, out=np.zeros_like(self.weights), where=spread > 0
        )
        side = np.where(self.rejected, 1.0, -1.0)
        gained = side * step * (ballots.votes - threshold * ballots.squares) - step**2 * spread / 2
        weights = np.maximum(0.0, self.weights + gained)
        turned = weights >= needed
        return Evidence(np.where(turned, 0.0, weights), self.rejected ^ turned)


def compute_needed_evidence(error_rate: float, votes: int) -> float:
    """The evidence at which a client changes sides, for a number of voting rounds."""
    return math.log(max(1, votes) / error_rate)
