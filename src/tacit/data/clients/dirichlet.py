"""Label-skewed clients: each client's label shares are drawn from a Dirichlet distribution around
the global shares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.randomness import Draws

Counts = NDArray[np.int64]
Shares = NDArray[np.float64]


def draw_shares(stock: Counts, clients: int, alpha: float, draws: Draws) -> Shares:
    """Draw one row of label shares per client from Dirichlet(alpha * global label shares)."""
    generator = draws.generator()
    prior = stock / stock.sum()
    live = np.flatnonzero(prior)
    shares = np.zeros((clients, len(stock)))
    drawn = generator.dirichlet(alpha * prior[live], size=clients)
    # With a tiny alpha all coordinates can underflow; the limit of the distribution is one label,
    # drawn by its share.
    broken = ~np.isfinite(drawn).all(axis=1)
    drawn[broken] = np.eye(len(live))[
        generator.choice(len(live), size=int(broken.sum()), p=prior[live])
    ]
    shares[:, live] = drawn
    return shares


def allot(stock: Counts, sizes: Counts, shares: Shares) -> Counts:
    """Allot rows of each label to the clients, in order, until the stock is used up.

    Guarantees: client c gets sizes[c] rows; columns add up to the stock if the sizes do. An
    exhausted label is replaced by the remaining ones, in proportion to their stock. Source: the
    partition of Zhang et al. 2022 (FedVocab).
    """
    left = stock.astype(np.int64).copy()
    given = np.zeros((len(sizes), len(stock)), np.int64)
    for client, size in enumerate(sizes):
        first = np.minimum(apportion(int(size), shares[client]), left)
        left -= first
        more = apportion(int(size) - int(first.sum()), left.astype(float))
        left -= more
        given[client] = first + more
    return given


def apportion(total: int, weights: Shares) -> Counts:
    """Divide `total` into integers proportional to the weights (largest remainder method)."""
    if total == 0:
        return np.zeros(len(weights), np.int64)
    exact = total * weights / weights.sum()
    whole: Counts = np.floor(exact).astype(np.int64)
    missing = total - int(whole.sum())
    if missing > 0:
        whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole


def deal(labels: NDArray[np.int64], given: Counts, draws: Draws) -> NDArray[np.int64]:
    """Assign the allotted number of random rows of each label; row numbers, client after client."""
    generator = draws.generator()
    piles = [
        generator.permutation(np.flatnonzero(labels == label)) for label in range(given.shape[1])
    ]
    ends = np.cumsum(given, axis=0)
    hands = [
        pile[end - count : end]
        for client in range(len(given))
        for pile, end, count in zip(piles, ends[client], given[client], strict=True)
    ]
    return np.concatenate(hands).astype(np.int64) if hands else np.zeros(0, np.int64)
