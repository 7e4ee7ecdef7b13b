"""Checks of a codec's claims: which party could break the guarantee, and whether an attack on
messages shows a larger loss than claimed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tacit.codecs import Codec
from tacit.privacy.accounting import losses
from tacit.privacy.ledger import Account, charge, compute_totals
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.testing.subject import Subject, has_client_noise, require, send

_DELTA = 1e-3
_TRIALS = 3000
_FALSE_ALARM = 5e-7
_QUANTILES = np.linspace(0.02, 0.98, 25)
_SIZES = (1, 16)


def check_trust(subject: Subject) -> None:
    """A claim names the party that could break it, which must agree with who adds the noise. Data
    owners refuse plans by it. If decoding adds the noise, or a client's message has none of its
    own, a party other than the client keeps the guarantee.
    """
    codec = subject.at_client()
    alone = codec.sum_noise is None and has_client_noise(codec, np.full(100, 1e-3, np.float32))
    for claim in codec.claims(1000, 1):
        require(
            alone or not claim.promises or claim.rests_on != "nobody",
            "the claim says rests_on = 'nobody', but the message of a single client has no noise of"
            " its own",
        )
        require(
            alone or not claim.promises or claim.rests_on == "server",
            f"the claim says rests_on = {claim.rests_on!r}; without secure aggregation it must be"
            " 'server', which adds the noise or sees the messages",
        )
        trusts_nobody = any(
            word.startswith(("nobody", "the server and everyone")) for word in claim.trust
        )
        require(
            (claim.rests_on == "nobody") == trusts_nobody,
            f"claim.trust {claim.trust} and rests_on = {claim.rests_on!r} contradict each other:"
            " trust begins with 'nobody' exactly if rests_on is 'nobody'",
        )
    _check_trust_in_helpers(subject)


def _check_trust_in_helpers(subject: Subject) -> None:
    codec = subject.at_client(helpers=2)
    if codec.integers is None:
        return
    for claim in codec.claims(1000, 1):
        require(
            claim.rests_on in ("helpers", "clients", "nobody"),
            f"under secure aggregation the claim rests on {claim.rests_on!r}; it must be the"
            " helpers, the clients or nobody",
        )
        by_clients = codec.sum_noise is None and any(
            "the noise" in word or "their noise" in word for word in claim.trust
        )
        require(
            (claim.rests_on == "clients") == by_clients,
            "if clients add the noise together, a dishonest client removes some of it: rests_on"
            " must be 'clients'",
        )


def check_epsilon(subject: Subject, trials: int = _TRIALS, root: Draws | None = None) -> None:
    """Attack two opposite updates, or an update against zero: the epsilon that the attack shows
    must not exceed the claim.

    This finds gross errors: with 3000 messages each it can show an epsilon of up to about 5. A
    claim without a number, and a sum that only clients can decode, are not attacked. A correct
    claim fails with probability below 1e-6.
    """
    codec = subject.at_client()
    if codec.decoded_by == "clients":
        return
    for dim in _SIZES:
        claimed = find_epsilon(codec, dim)
        if claimed is None:
            continue
        reach = np.float32(1e3 * subject.scale)
        away = -reach if _replaces(codec, dim) else np.float32(0)
        base = root or Draws.seeded(8)
        high = _observe(codec, np.full(dim, reach), base.at(dim, "high"), trials)
        low = _observe(codec, np.full(dim, away), base.at(dim, "low"), trials)
        epsilon, delta = claimed
        found = bound_epsilon(high, low, delta)
        require(
            found <= epsilon,
            f"the claim understates the privacy loss: an attack on {dim} coordinates shows at least"
            f" epsilon {found:.3g} per update, the claim says {epsilon:.3g} (delta {delta:g})",
        )


def _replaces(codec: Codec, dim: int) -> bool:
    """Whether all claims are about replacing a client's rows, and none about removing the client."""
    return all(claim.relation.startswith("replace") for claim in codec.claims(dim, 1))


def find_epsilon(codec: Codec, dim: int) -> tuple[float, float] | None:
    """Epsilon and delta of one update of a cohort of one; None if the claims have no number."""
    claims = codec.claims(dim, 1)
    if not claims or any(not claim.promises for claim in claims):
        return None
    for claim in claims:
        losses.refuse_unproven(claim)
    found = compute_totals(charge(Account(), claims, 1), _DELTA)[-1]
    return None if found.epsilon is None else (found.epsilon, found.delta)


def _observe(codec: Codec, update: Vector, root: Draws, trials: int) -> NDArray[np.float64]:
    """The sum of coordinates that each of many messages decodes to, with all noise."""
    seen = np.empty(trials)
    public = Draws.seeded(3).publish()
    for n in range(trials):
        total = codec.empty(len(update))
        send(codec, total, update, root.at(n))
        own = root.at(n, "decoder").for_server()
        seen[n] = codec.decode(total, public=public, own=own).astype(np.float64).sum()
    return seen


def bound_epsilon(high: NDArray[np.float64], low: NDArray[np.float64], delta: float) -> float:
    """Lower bound on epsilon at `delta` from the observations of two inputs.

    Thresholds are chosen on one half and judged on the other, with Clopper-Pearson intervals.
    """
    half = len(high) // 2
    cuts = np.unique(np.quantile(np.concatenate([high[:half], low[:half]]), _QUANTILES))
    alarm = _FALSE_ALARM / (4 * len(cuts))
    above, below = high[half:], low[half:]
    bounds = [
        bound
        for cut in cuts
        for bound in (
            _bound_loss((above >= cut).mean(), (below >= cut).mean(), len(above), alarm, delta),
            _bound_loss((below <= cut).mean(), (above <= cut).mean(), len(above), alarm, delta),
        )
    ]
    return max(bounds)


def _bound_loss(one: float, other: float, count: int, alarm: float, delta: float) -> float:
    """Lower bound on ln((P - delta) / Q) from the shares in which an event was seen."""
    hits, misses = round(one * count), round(other * count)
    least = float(beta.ppf(alarm, hits, count - hits + 1)) if hits else 0.0
    most = float(beta.ppf(1 - alarm, misses + 1, count - misses)) if misses < count else 1.0
    return math.log((least - delta) / most) if least > delta else -math.inf
