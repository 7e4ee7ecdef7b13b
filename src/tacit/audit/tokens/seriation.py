"""The order of channels from tokens alone: a weight changes little from round to round, so
consecutive tokens belong to near channels.

The attacker is the server without the clients' secret. It links the tokens that one client sent for
the same parameter in two consecutive rounds, over all parameters, and computes the Fiedler vector
of that graph, which sorts a chain of neighbours up to its direction. Channels are equally wide, so
a position in the order is a weight up to scale. The attack runs twice: as if a token meant the same
in all rounds, and as if its meaning changed in each round. Source: spectral seriation, Atkins,
Boman, Hendrickson, SIAM J. Comput. 28 (1998).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from scipy.stats import spearmanr

from tacit.training.compiled.blas import one_thread

Tokens = NDArray[np.uint32]
_DENSE = 1 << 10
_TINY = 1e-9


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """The attacker's reconstruction of one client's values: one per parameter, with zero mean and
    the clients' scale.

    `placed` is the share of parameters whose token is in the largest connected component, and so
    has a position in the order.
    """

    values: NDArray[np.float64]
    placed: float


@dataclass(frozen=True, kw_only=True)
class Seriation:
    """Success of the attack: the absolute rank and linear correlations; 1 if the order, or the
    values, are right up to scale.
    """

    tokens: str
    transitions: int
    spearman: float
    correlation: float
    placed: float


def rebuild_values(rounds: list[Tokens], scale: float, apart: bool = False) -> Rebuilt:
    """Reconstruct one client's values in the first of some rounds, from its tokens in all rounds
    and the scale of its values.

    With `apart`, equal tokens of two rounds count as different.
    """
    named = np.stack(rounds).astype(np.uint64)
    if apart:
        named += np.arange(len(rounds), dtype=np.uint64)[:, None] << np.uint64(32)
    names, nodes = np.unique(named, return_inverse=True)
    nodes = nodes.reshape(len(rounds), -1)
    found = _order(_build_links(nodes, len(names)))[nodes[0]]
    known = np.isfinite(found)
    if known.any() and np.ptp(found[known]) > 0:
        found = (found - found[known].mean()) / found[known].std() * scale
    return Rebuilt(values=np.where(known, found, 0.0), placed=float(known.mean()))


def score_seriation(
    tokens: str, rounds: list[Tokens], true: NDArray[np.float32]
) -> tuple[Seriation, Rebuilt]:
    """Score the better reconstruction of the true values of the first round, and return it with the
    correct sign.
    """
    ways = [rebuild_values(rounds, float(true.std()), apart) for apart in (False, True)]
    correlations = [_correlate(true, way.values) for way in ways]
    best = int(np.argmax(np.abs(correlations)))
    found, correlation = ways[best], correlations[best]
    score = Seriation(
        tokens=tokens,
        transitions=len(rounds) - 1,
        spearman=abs(float(spearmanr(true, found.values).statistic)) if correlation else 0.0,
        correlation=abs(correlation),
        placed=found.placed,
    )
    return score, Rebuilt(values=found.values * (-1 if correlation < 0 else 1), placed=found.placed)


def _correlate(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Correlation; 0 if either input is constant."""
    return float(np.corrcoef(one, other)[0, 1]) if one.std() > 0 and other.std() > 0 else 0.0


def _build_links(nodes: NDArray[np.int64], count: int) -> csr_array:
    """Graph with the number of times that two tokens followed each other at a parameter, in either
    direction.
    """
    before, after = nodes[:-1].ravel(), nodes[1:].ravel()
    moved = before != after
    links = coo_array(
        (np.ones(moved.sum()), (before[moved], after[moved])), shape=(count, count)
    ).tocsr()
    return csr_array(links + links.T)


def _order(links: csr_array) -> NDArray[np.float64]:
    """Position of each node in the order of the largest connected component, from 0; NaN for other
    nodes.
    """
    places = np.full(links.shape[0], np.nan)
    _, part = connected_components(links, directed=False)
    largest = np.flatnonzero(part == np.bincount(part).argmax())
    if len(largest) > 2:
        vector = _fiedler(csr_array(links[largest][:, largest]))
        places[largest[np.argsort(vector, kind="stable")]] = np.arange(len(largest))
    return places


def _fiedler(links: csr_array) -> NDArray[np.float64]:
    """Eigenvector of the second smallest eigenvalue of the normalised Laplacian."""
    root = 1 / np.sqrt(np.asarray(links.sum(axis=1)).ravel())
    scaled = diags_array(root) @ links @ diags_array(root)
    if links.shape[0] <= _DENSE:
        with one_thread():  # threads cost more than they save on matrices this small
            _, vectors = eigh(np.eye(links.shape[0]) - scaled.toarray(), subset_by_index=[0, 1])
    else:
        # Shifted and inverted: the smallest eigenvalues of a long chain lie too close together for
        # plain iteration.
        laplacian = diags_array(np.ones(links.shape[0])) - scaled
        values, vectors = eigsh(laplacian.tocsc(), k=2, sigma=-_TINY, which="LM", v0=1 / root)
        vectors = vectors[:, np.argsort(values)]
    return np.asarray(vectors[:, 1] * root)
