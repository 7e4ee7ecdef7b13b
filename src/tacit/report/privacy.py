"""Privacy guarantee of a run, computed from its record: totals with units, trust required, and what
is not covered.

Totals are always recomputed from the recorded releases; no recorded total is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import BudgetError
from tacit.privacy import ledger
from tacit.privacy.claim import Claim, Total
from tacit.privacy.statement import prose, prose_rows
from tacit.privacy.statement.meaning import Explanation, explain_totals
from tacit.privacy.statement.parts import state_parts
from tacit.privacy.statement.unprotected import Results, list_unprotected
from tacit.runs.record import (
    FEATURES,
    RUN,
    ClientsEvaluated,
    DisclosedRows,
    Entry,
    Finished,
    Prepared,
    Released,
    Round,
    Started,
    WarmStarted,
    select_entries,
)

if TYPE_CHECKING:
    from tacit.privacy.accounting.shuffle import ShuffleEstimate


@dataclass(frozen=True, kw_only=True)
class StatedTotal:
    """One total of the ledger, and how it is written."""

    total: Total
    text: str
    composition: str


@dataclass(frozen=True, kw_only=True)
class PrivacyFigures:
    """The privacy guarantee of a run, in words and figures."""

    statement: str
    owners: str
    """Says that owners were simulated, if they were; the statement begins with it."""
    meaning: Explanation | None
    totals: list[StatedTotal]
    mechanisms: list[str]
    relations: list[str]
    views: list[str]
    trust: list[str]
    sources: list[str]
    unprotected: list[str]

    @property
    def rests_on(self) -> str:
        """Whom one must trust, in one phrase."""
        return "; ".join(self.trust) or "nobody else"

    @property
    def holds_against(self) -> str:
        """Against whom the guarantee holds, in words."""
        return prose.describe_views(self.views) if self.views else ""

    def total(self, unit: str) -> Total | None:
        """The first total per that unit, if there is one."""
        return next((one.total for one in self.totals if one.total.unit == unit), None)


def write_headline(entries: list[Entry], arm: str, regime: str = "") -> str:
    """Summarise the privacy loss of an arm for a table cell; `regime` is the run's own."""
    try:
        stated = ledger.compute_totals(
            ledger.fold_releases(_updates(entries, arm)), _delta(entries)
        )
    except BudgetError:
        return "unproven: no known bound"
    return prose.write_headline(stated, {RUN: regime, "same_features": "central"}.get(arm, arm))


def summarise_privacy(entries: list[Entry]) -> PrivacyFigures:
    """Compute the guarantee of the run itself; baselines are there for comparison and have none."""
    released = _updates(entries, RUN)
    before = [entry for entry in select_entries(entries, Released, RUN) if entry.round_no == 0]
    claims = tuple(dict.fromkeys(entry.promise for entry in released))
    prepared = select_entries(entries, Prepared)
    try:
        account = ledger.fold_releases(released)
        stated = ledger.compute_totals(account, _delta(entries))
        averaged = (_plan(entries).get("filter") or {}).get("aggregate", "")
        words = prose.write_statement(account, stated, before)
        words = f"{words} {state_parts(account, _delta(entries), averaged)}".rstrip()
    except BudgetError as error:
        account, stated, words = ledger.Account(), (), f"No guarantee can be stated. {error}"
    for rows in select_entries(entries, DisclosedRows)[:1]:
        words = f"{words} {ledger.describe_disclosure(rows)}"
    for first in select_entries(entries, WarmStarted)[:1]:
        words = f"{words} {prose_rows.describe_warm_start(first)}"
    words = f"{words} {prose_rows.describe_selection(_plan(entries))}".rstrip()
    words = f"{words} {prose_rows.describe_private_parameters(_plan(entries).get('private') or {})}".rstrip()
    promises = any(total.epsilon is not None for total in stated)
    owners = (
        prose_rows.describe_made_up_owners(
            _plan(entries), prepared[0] if prepared else None, promises=promises
        )
        if released
        else ""
    )
    words = f"{owners} {words}".lstrip()
    return PrivacyFigures(
        statement=words,
        owners=owners,
        meaning=explain_totals(stated, prepared[0].clients if prepared else 1, owners),
        totals=[
            StatedTotal(
                total=total,
                text=prose.format_total(total),
                composition=prose.describe_composition(total, account),
            )
            for total in stated
        ],
        mechanisms=_read_distinct(claims, lambda claim: claim.mechanism),
        relations=_read_distinct(claims, lambda claim: claim.relation),
        views=_read_distinct(claims, lambda claim: claim.view),
        trust=prose.list_trust(claims),
        sources=_read_distinct(claims, lambda claim: claim.source),
        unprotected=list_unprotected(
            account,
            before,
            _plan(entries),
            prepared[0] if prepared else None,
            results=_find_results(entries),
        ),
    )


def describe_shuffled(
    entries: list[Entry], clients: int, *, in_pieces: bool = False
) -> ShuffleEstimate:
    """Estimate epsilon with a shuffler of `clients` messages per round, or of one message per
    parameter and client; raise BudgetError where no bound is known.
    """
    from tacit.privacy.accounting.shuffle import estimate_shuffling  # numpy is heavy to load

    if in_pieces and (why := _find_mark(_plan(entries))):
        raise BudgetError(f"single parameters cannot be shuffled: {why}")
    return estimate_shuffling(
        ledger.fold_releases(_updates(entries, RUN)), clients, _delta(entries), in_pieces=in_pieces
    )


def _find_mark(plan: dict[str, Any]) -> str:
    """What would link the pieces of one client's update in spite of a shuffler; empty if nothing
    does.
    """
    codec, server = plan.get("codec", {}), plan.get("server", {})
    if codec.get("name") == "rr_sampled" or codec.get("coordinates"):
        return (
            "which coordinates a client reports is public, so its pieces can be told apart; use rr,"
            " or rqm without codec.coordinates"
        )
    if server.get("weights", "equal") != "equal":
        return "each piece would carry its client's weight; use server.weights = 'equal'"
    if plan.get("filter") or server.get("rule", "mean") != "mean":
        return "the server reads single updates; remove [filter], and use server.rule = 'mean'"
    return ""


def _updates(entries: list[Entry], arm: str) -> list[Released]:
    """Releases in rounds; earlier releases are listed by name, since no total covers them."""
    arms = (FEATURES, RUN) if arm == RUN else (arm,)
    released = [one for name in arms for one in select_entries(entries, Released, name)]
    return [entry for entry in released if entry.round_no > 0]


def _find_results(entries: list[Entry]) -> Results:
    """Which results on held-out rows the record contains, of all arms."""
    if select_entries(entries, ClientsEvaluated):
        return "exact"
    found = [
        *(one.metrics for one in select_entries(entries, Round) if one.metrics),
        *(one.metrics for one in select_entries(entries, WarmStarted) if one.metrics),
        *(one.metrics for one in select_entries(entries, Finished) if one.metrics),
    ]
    if not found:
        return "none"
    return "noisy" if any("accuracy_noise" in metrics for metrics in found) else "exact"


def _read_distinct(claims: tuple[Claim, ...], read: Callable[[Claim], str]) -> list[str]:
    return list(dict.fromkeys(read(claim) for claim in claims if read(claim)))


def _plan(entries: list[Entry]) -> dict[str, Any]:
    started = select_entries(entries, Started)
    return started[0].plan if started else {}


def _delta(entries: list[Entry]) -> float:
    """Delta at which totals are stated: the codec's own, if it has one, else the ledger's."""
    plan = _plan(entries)
    return float(plan.get("codec", {}).get("delta") or plan.get("ledger", {}).get("delta", 1e-5))
