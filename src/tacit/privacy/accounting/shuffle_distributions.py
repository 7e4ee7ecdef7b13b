"""Distribution of one client's privacy loss in one shuffled round: losses, their probabilities, and
the remaining probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.claim import BiasedVector

LossDistribution = tuple[NDArray[np.float64], NDArray[np.float64], float]

_RARE = 1e-12
"""Tail probability of the number of hiding clients; each tail counts as infinite loss. Smaller
where many losses are composed, whose tails add up.
"""
_GROUPS, _FEWEST = 60, 8
"""Numbers of hiding clients are grouped, each group counted as its smallest number. Fewer groups
are used where each is slow.
"""
_CELLS, _LARGEST = 4e6, 2e6
"""Most pairs of counts in all, and for one number of hiding clients."""
_BINS = 20_000
"""Number of bins for the losses of a group, which are rounded up."""
_REACH = 9.0
"""Standard deviations within which counts are evaluated; the rest counts as infinite loss."""


def bound_by_epsilon(epsilon: float, clients: int, rare: float = _RARE) -> LossDistribution:
    """Bound the loss of one round for messages with a pure epsilon, whatever their distribution.

    Source: Feldman, McMillan and Talwar 2023, *Stronger Privacy Amplification by Shuffling*,
    theorem 3.1 and its pair of distributions. Each other client hides the client in question with
    probability 2 / (e^epsilon + 1), by a message that could be of either kind. The number C of such
    clients is binomial, and the server learns no more than how many of C + 1 messages are of one
    kind.
    """
    from scipy.stats import binom

    truth = 1 / (1 + math.exp(-epsilon))
    losses, probabilities = [], []
    chance = 2 / (math.exp(epsilon) + 1)
    for hiding, likely in _group_blankets(clients - 1, chance, _GROUPS, rare):
        reach = 9 * math.sqrt(hiding) / 2 + 2
        kind = np.arange(
            max(0, math.floor(hiding / 2 - reach)),
            min(hiding + 1, math.ceil(hiding / 2 + reach) + 1) + 1,
        )
        # Number of the hiding + 1 messages that are of the first kind, given that the one in
        # question is, or is not.
        it_is, it_is_not = binom.pmf(kind - 1, hiding, 0.5), binom.pmf(kind, hiding, 0.5)
        here, there = (
            truth * it_is + (1 - truth) * it_is_not,
            (1 - truth) * it_is + truth * it_is_not,
        )
        known = (here > 0) & (there > 0)
        losses.append(np.log(here[known]) - np.log(there[known]))
        probabilities.append(likely * here[known])
    found = np.concatenate(probabilities)
    return np.concatenate(losses), found, max(0.0, 1 - math.fsum(found)) + 2 * rare


def bound_by_blanket(vector: BiasedVector, clients: int) -> LossDistribution | None:
    """Bound the loss of one round for biased vectors, by their privacy blanket; None where it gives
    no bound or takes too long.

    Whatever another client's vector is biased towards, it is unbiased with probability
    `vector.blanket`; assume that the server knows which vectors are not. So the client in question
    hides among N = M + 1 messages, M of them unbiased. Let u and v be two directions that its
    vector might be biased towards. The density of its message relative to an unbiased one is high =
    chance / free beyond a direction's own plane and low elsewhere. So the likelihood of N messages
    relative to unbiased ones is (N low + a (high - low)) / N, with a of them beyond u's plane; for
    v with b of them beyond v's. The loss follows from a and b.

    Opposite directions are the worst case. What matters is the mean of max(0, sum of X), with a
    term X for each unbiased message that is 1 if beyond u's plane, less e^epsilon if beyond v's
    (and a constant). Where the two half-spaces overlap, X has the same mean and less spread (1 -
    e^epsilon and 0 in place of 1 and -e^epsilon, which have the same sum and are further apart), so
    a sum of such X has a smaller mean under any convex function. Half-spaces of opposite directions
    do not overlap if an unbiased vector is beyond one of them at most half of the time. An update
    that is sent as its direction or the opposite one mixes such distributions, which does not
    increase the loss.

    Source: Balle, Bell, Gascón and Nissim 2019, *The Privacy Blanket of the Shuffle Model*, with
    the distribution of PrivUnitG.
    """
    if vector.free > 0.5:
        return None
    high, low = vector.chance / vector.free, (1 - vector.chance) / (1 - vector.free)
    most = (clients - 1) * vector.blanket + 1
    cells = (2 * _REACH * math.sqrt(most * vector.free)) ** 2
    if cells > _LARGEST:
        return None
    losses, probabilities = [], []
    groups = int(min(_GROUPS, max(_FEWEST, _CELLS / max(cells, 1.0))))
    for hiding, likely in _group_blankets(clients - 1, vector.blanket, groups):
        total, reach = hiding + 1, _REACH * math.sqrt((hiding + 1) * vector.free) + 2
        counts = np.arange(
            max(0, math.floor(total * vector.free - reach)),
            min(total, math.ceil(total * vector.free + reach)) + 1,
        )
        free = _count_pairs(total, vector.free, counts)
        sees = 1 + (high / low - 1) * counts / total
        values, likelihood = _bin_losses(
            np.log(sees)[:, None] - np.log(sees)[None, :], free * (low * sees)[:, None]
        )
        losses.append(values)
        probabilities.append(likely * likelihood)
    found = np.concatenate(probabilities)
    return np.concatenate(losses), found, max(0.0, 1 - float(found.sum())) + 2 * _RARE


def _count_pairs(total: int, share: float, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probability of each pair of counts among `total` unbiased vectors: those beyond one plane,
    and those beyond the other.
    """
    from scipy.special import gammaln

    rest = total - counts[:, None] - counts[None, :]
    one = counts * math.log(share) - gammaln(counts + 1.0)
    logs = gammaln(total + 1.0) + one[:, None] + one[None, :]
    known = np.maximum(rest, 0)
    last = known * math.log1p(-2 * share) if share < 0.5 else np.where(known > 0, -np.inf, 0.0)
    return np.where(rest >= 0, np.exp(logs + last - gammaln(known + 1.0)), 0.0)


def _bin_losses(
    losses: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Round losses up to bins and add up their probabilities."""
    largest = float(losses.max(initial=0.0)) or 1.0
    places = np.ceil(losses.ravel() * (_BINS / largest)).astype(np.int64)
    lowest = int(places.min())
    values = np.arange(lowest, int(places.max()) + 1) * (largest / _BINS)
    return np.asarray(values, np.float64), np.bincount(
        places - lowest, probabilities.ravel()
    ).astype(np.float64)


def _group_blankets(
    others: int, chance: float, groups: int, rare: float = _RARE
) -> Iterator[tuple[int, float]]:
    """Yield the smallest number of hiding clients in each group, and the probability of the group."""
    from scipy.stats import binom

    lowest, highest = int(binom.ppf(rare, others, chance)), int(binom.isf(rare, others, chance))
    edges = np.unique(np.linspace(lowest, highest + 1, groups + 1).astype(np.int64))
    for hiding, following in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield (
            hiding,
            float(binom.cdf(following - 1, others, chance) - binom.cdf(hiding - 1, others, chance)),
        )
