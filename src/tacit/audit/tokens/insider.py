"""What a client with the secret learns about another client: it decodes the histogram and removes
its own token. The channels of all other clients remain at each parameter, without names. If all of
them are equal, the victim's is known. If weights differ, the count of a token says who sent it: a
count that the other clients' weights cannot add up to contains the victim's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.quantisation.quantiser import Channels
from tacit.randomness import Draws

SIZES = (4, 10, 50)
_MOST_PARAMETERS, _MOST_PAIRS = 20_000, 10
_LEAST_ROWS, _MOST_ROWS = 100, 2_000


@dataclass(frozen=True, kw_only=True)
class Insider:
    """What one of `clients` clients learns about another, as shares of the parameters, over up to
    ten pairs of clients.

    `certain`: the victim's channel is known for sure. `certain_within_one`: it is known to one
    channel up or down. `guessed`: the most frequent channel of the others is the victim's;
    `guessed_from_mean`: the channel of the others' mean is. `by_weight`: the channel is known for
    sure if clients have different weights from 100 to 2,000. `bits_left`: entropy of the victim's
    channel, given the others' channels without names. `equal`: all sent the same channel, which a
    server without the secret sees too.
    """

    clients: int
    certain: float
    certain_within_one: float
    guessed: float
    guessed_from_mean: float
    by_weight: float
    bits_left: float
    equal: float


def attack_as_insider(channels: Channels, draws: Draws) -> Insider:
    """Measure what an insider learns about a victim from the channels of all clients, one row per
    client.
    """
    count = len(channels)
    random = draws.generator()
    sent = channels[:, random.permutation(channels.shape[1])[:_MOST_PARAMETERS]].astype(np.int64)
    pairs = [((victim + 1) % count, victim) for victim in range(count)][:_MOST_PAIRS]
    found = [_pair(sent, own, victim) for own, victim in pairs]
    weights = _LEAST_ROWS + random.permutation(_MOST_ROWS - _LEAST_ROWS)[:count]
    means = np.mean(found, axis=0).tolist()
    return Insider(
        clients=count,
        certain=means[0],
        certain_within_one=means[1],
        guessed=means[2],
        guessed_from_mean=means[3],
        bits_left=means[4],
        by_weight=float(
            np.mean([_share_known_by_weight(sent, weights, own, victim) for own, victim in pairs])
        ),
        equal=float((sent == sent[0]).all(axis=0).mean()),
    )


def _pair(sent: NDArray[np.int64], own: int, victim: int) -> tuple[float, ...]:
    """Shares for one insider and victim, in the order of the fields."""
    others = np.sort(np.delete(sent, own, axis=0), axis=0)
    spread = others[-1] - others[0]
    middle = np.floor(others.mean(axis=0) + 0.5)
    counts = _counts(others)
    likeliest = np.take_along_axis(others, counts.argmax(axis=0)[None], 0)[0]
    # Each of the others is as likely to be the victim: -sum p log p over channels is the mean of
    # -log p over clients.
    entropy = -np.log2(counts / len(others)).mean(axis=0)
    return (
        float((spread == 0).mean()),
        float((spread <= 2).mean()),
        float((likeliest == sent[victim]).mean()),
        float((middle == sent[victim]).mean()),
        float(entropy.mean()),
    )


def _counts(others: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each client's channel, count the others that sent the same."""
    return np.stack([(others == row).sum(axis=0) for row in others])


def _share_known_by_weight(
    sent: NDArray[np.int64], weights: NDArray[np.int64], own: int, victim: int
) -> float:
    """Share of parameters at which no subset of the others explains the weight counted with the
    victim's token.

    A lower bound: it considers one token at a time. Weights are assumed to be known; the histogram
    shows single ones.
    """
    others = [
        weight for client, weight in enumerate(weights.tolist()) if client not in (own, victim)
    ]
    reached = np.zeros(int(weights.sum()) + 1, np.bool_)
    reached[0] = True
    for weight in others:
        reached[weight:] |= reached[:-weight].copy()
    counted = np.delete(np.where(sent == sent[victim], weights[:, None], 0), own, axis=0).sum(
        axis=0
    )
    rest = np.delete(sent, own, axis=0)
    return float((~reached[counted] | (rest == rest[0]).all(axis=0)).mean())
