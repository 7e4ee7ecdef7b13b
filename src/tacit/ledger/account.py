"""From claims to totals. Borrowed accountants are never believed alone: every figure is held against a closed form."""

from __future__ import annotations

import math

from tacit.claim import Claim, PureDP
from tacit.record import Released


def entry(claim: Claim, arm: str, round_no: int, clients: int) -> Released:
    """Return the ledger entry for one round in which `clients` clients each sent one update."""
    return Released(
        arm=arm,
        round_no=round_no,
        clients=clients,
        mechanism=claim.mechanism,
        loss=claim.loss.word,
        epsilon=claim.loss.epsilon if isinstance(claim.loss, PureDP) else None,
        unit=claim.unit,
        count=claim.count,
        relation=claim.relation,
        view=claim.view,
        trust=list(claim.trust),
        source=claim.source,
    )


def totals(claim: Claim, updates: int, delta: float) -> dict[str, float | None]:
    """Return epsilon per unit, per update and per run of `updates` updates, pure and at `delta`; None: no number exists."""
    approximate = f"run (delta={delta:g})"
    if not isinstance(claim.loss, PureDP):
        return {"update": None, "run": None, approximate: None}
    update = claim.per_update()
    return {
        claim.unit: claim.loss.epsilon,
        "update": update,
        "run": update * updates,
        approximate: min(update * updates, composed(claim.loss.epsilon, claim.count * updates, delta)),
    }


def composed(epsilon: float, uses: int, delta: float) -> float:
    """Return the (epsilon, delta) bound of `uses` binary randomised responses, each pure `epsilon`.

    dp-accounting's Rényi accountant does the work; the guard is the zero-concentrated closed form
    rho = uses * epsilon * tanh(epsilon / 2), epsilon(delta) = rho + 2 sqrt(rho ln(1/delta)), which holds for any pure
    mechanism. An accountant's figure below what one use costs, or not finite, is not believed. The larger of two
    valid bounds is never needed, so the smaller is returned. What was never used costs nothing.
    """
    if uses == 0:
        return 0.0
    pure = epsilon * uses
    rho = uses * epsilon * math.tanh(epsilon / 2)
    closed = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    borrowed = _borrowed(epsilon, uses, delta)
    if not math.isfinite(borrowed) or borrowed < _renyi_floor(epsilon, uses, delta) * (1 - 1e-9):
        borrowed = math.inf
    return min(pure, closed, borrowed)


def _borrowed(epsilon: float, uses: int, delta: float) -> float:
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    flip = 2 / (1 + math.exp(epsilon))
    accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp_accounting.RandomizedResponseDpEvent(flip, 2), uses)
    return float(accountant.get_epsilon(delta))


def _renyi_floor(epsilon: float, uses: int, delta: float) -> float:
    """Return the best value the Rényi conversion can reach over all real orders: a borrowed figure below it is wrong."""
    best = math.inf
    for step in range(1, 4000):
        order = 1 + math.exp(-12 + step * 0.008)
        bound = uses * _renyi(epsilon, order) + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        best = min(best, bound)
    return max(best * 0.999, 0.0)


def _renyi(epsilon: float, order: float) -> float:
    """Return the Rényi divergence of order `order` of one binary randomised response."""
    log_keep, log_flip = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    one = order * log_keep + (1 - order) * log_flip
    other = order * log_flip + (1 - order) * log_keep
    top = max(one, other)
    return (top + math.log(math.exp(one - top) + math.exp(other - top))) / (order - 1)
