"""What one shuffled round tells of one client: losses, their chances, and the chance of what is
left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.claim import BiasedVector

LossDistribution = tuple[NDArray[np.float64], NDArray[np.float64], float]

_RARE = 1e-12
"""Numbers of hiding clients that are this rare, in each tail, count as certain loss."""
_GROUPS, _FEWEST = 60, 8
"""Numbers of hiding clients are taken in groups, each by its smallest; fewer groups where there is
much to reckon.
"""
_CELLS, _LARGEST = 4e6, 2e6
"""How many pairs of counts are reckoned in all, and for one number of hiding clients at most."""
_BINS = 20_000
"""Losses of a group are rounded up to so many."""
_REACH = 9.0
"""Counts are taken within so many standard deviations; the rest counts as certain loss."""


def bound_by_epsilon(epsilon: float, clients: int) -> LossDistribution:
    """Return what one round tells of a client whose message has a pure epsilon, whatever its law.

    Source: Feldman, McMillan and Talwar 2023, *Stronger Privacy Amplification by Shuffling*,
    theorem 3.1 and its pair of laws. Each other client hides the one in question with the chance 2
    / (e^epsilon + 1), by a message that could be of either kind; so many of them, C, are binomial,
    and the server learns no more than how many of C + 1 messages are of one kind.
    """
    from scipy.stats import binom

    truth = 1 / (1 + math.exp(-epsilon))
    losses, chances = [], []
    for hiding, likely in _group_blankets(clients - 1, 2 / (math.exp(epsilon) + 1), _GROUPS):
        reach = 9 * math.sqrt(hiding) / 2 + 2
        kind = np.arange(
            max(0, math.floor(hiding / 2 - reach)),
            min(hiding + 1, math.ceil(hiding / 2 + reach) + 1) + 1,
        )
        # Of hiding + 1 messages so many are of the first kind: the one in question is, or it is
        # not.
        it_is, it_is_not = binom.pmf(kind - 1, hiding, 0.5), binom.pmf(kind, hiding, 0.5)
        here, there = (
            truth * it_is + (1 - truth) * it_is_not,
            (1 - truth) * it_is + truth * it_is_not,
        )
        known = (here > 0) & (there > 0)
        losses.append(np.log(here[known]) - np.log(there[known]))
        chances.append(likely * here[known])
    found = np.concatenate(chances)
    return np.concatenate(losses), found, max(0.0, 1 - float(found.sum())) + 2 * _RARE


def bound_by_blanket(law: BiasedVector, clients: int) -> LossDistribution | None:
    """Return the same for vectors that lean, by their law; None where it says nothing, or takes too
    long.

    Whatever another client's vector leans towards, it is free with probability `law.blanket`; take
    it that the server knows who is not. So the one in question hides among N = M + 1 messages, M of
    them free. Of two directions u and v it might lean towards, the density of its message, over
    that of a free one, is high = chance / free beyond a direction's own plane and low elsewhere.
    Hence N messages are as likely as free ones times (N low + a (high - low)) / N, with a of them
    beyond u's plane; for v with b of them beyond v's. The loss follows from a and b.

    Opposite directions are the worst: what matters is the mean of max(0, sum of X), with a term X
    of each free message that is 1 if beyond u's plane, less e^epsilon if beyond v's (and a
    constant). Where the two half-spaces overlap, X has the same mean and less spread (1 - e^epsilon
    and 0 in place of 1 and -e^epsilon, which have the same sum and lie outside), so a sum of such X
    has a smaller mean of any convex function. Half-spaces of opposite directions do not overlap, if
    a free vector is beyond one at most half of the time. An update that is sent as its direction or
    the opposite one mixes such laws, which costs no more.

    Source: Balle, Bell, Gascón and Nissim 2019, *The Privacy Blanket of the Shuffle Model*, with
    the law of PrivUnitG.
    """
    if law.free > 0.5:
        return None
    high, low = law.chance / law.free, (1 - law.chance) / (1 - law.free)
    most = (clients - 1) * law.blanket + 1
    cells = (2 * _REACH * math.sqrt(most * law.free)) ** 2
    if cells > _LARGEST:
        return None
    losses, chances = [], []
    groups = int(min(_GROUPS, max(_FEWEST, _CELLS / max(cells, 1.0))))
    for hiding, likely in _group_blankets(clients - 1, law.blanket, groups):
        total, reach = hiding + 1, _REACH * math.sqrt((hiding + 1) * law.free) + 2
        counts = np.arange(
            max(0, math.floor(total * law.free - reach)),
            min(total, math.ceil(total * law.free + reach)) + 1,
        )
        free = _count_pairs(total, law.free, counts)
        sees = 1 + (high / low - 1) * counts / total
        values, likelihood = _bin_losses(
            np.log(sees)[:, None] - np.log(sees)[None, :], free * (low * sees)[:, None]
        )
        losses.append(values)
        chances.append(likely * likelihood)
    found = np.concatenate(chances)
    return np.concatenate(losses), found, max(0.0, 1 - float(found.sum())) + 2 * _RARE


def _count_pairs(total: int, share: float, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how likely each pair of these counts is, of `total` free vectors beyond either of two
    planes.
    """
    from scipy.special import gammaln

    rest = total - counts[:, None] - counts[None, :]
    one = counts * math.log(share) - gammaln(counts + 1.0)
    logs = gammaln(total + 1.0) + one[:, None] + one[None, :]
    known = np.maximum(rest, 0)
    last = known * math.log1p(-2 * share) if share < 0.5 else np.where(known > 0, -np.inf, 0.0)
    return np.where(rest >= 0, np.exp(logs + last - gammaln(known + 1.0)), 0.0)


def _bin_losses(
    losses: NDArray[np.float64], chances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return fewer losses, each rounded up, with their chances."""
    largest = float(losses.max(initial=0.0)) or 1.0
    places = np.ceil(losses.ravel() * (_BINS / largest)).astype(np.int64)
    lowest = int(places.min())
    values = np.arange(lowest, int(places.max()) + 1) * (largest / _BINS)
    return np.asarray(values, np.float64), np.bincount(places - lowest, chances.ravel()).astype(
        np.float64
    )


def _group_blankets(others: int, chance: float, groups: int) -> Iterator[tuple[int, float]]:
    """Yield how many of the others hide a client at least, and how likely that group of
    numbers is.
    """
    from scipy.stats import binom

    lowest, highest = int(binom.ppf(_RARE, others, chance)), int(binom.isf(_RARE, others, chance))
    edges = np.unique(np.linspace(lowest, highest + 1, groups + 1).astype(np.int64))
    for hiding, following in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield (
            hiding,
            float(binom.cdf(following - 1, others, chance) - binom.cdf(hiding - 1, others, chance)),
        )
