"""Completeness of a record: every round that asked clients must have its releases."""

from __future__ import annotations

from collections import Counter

from tacit import plan as plans
from tacit.errors import TacitError
from tacit.plan import Plan
from tacit.plan.tables.filter import VOTING_UNITS
from tacit.privacy import ledger
from tacit.protocol.round_claims import list_round_claims
from tacit.runs import record
from tacit.runs.record import RUN, Released, Round


def list_missing(entries: list[record.Entry]) -> list[str]:
    """List what is missing from the valid entries of a run, one sentence each.

    Baselines are not checked, since they guarantee nothing.
    """
    rounds = record.select_entries(entries, Round, RUN)
    numbers = [one.round_no for one in rounds]
    wrong = []
    if numbers != list(range(1, len(numbers) + 1)):
        wrong.append(f"its rounds are not numbered from 1 to {len(numbers):,}, each once")
    for end in record.select_entries(entries, record.Finished, RUN):
        if end.rounds != len(numbers):
            wrong.append(
                f"it ended after {end.rounds:,} rounds but has entries for {len(numbers):,}"
            )
    return [*wrong, *_list_rounds_without_release(entries, rounds), *_compare_totals(entries)]


def _list_rounds_without_release(entries: list[record.Entry], rounds: list[Round]) -> list[str]:
    """List rounds that asked clients but lack releases of the plan."""
    released = [
        one
        for one in record.select_entries(entries, Released, RUN)
        if one.round_no and not one.superseded
    ]
    found = Counter(one.round_no for one in released)
    most = max(found.values(), default=1)
    missing = [
        one.round_no
        for one in rounds
        if one.cohort and found[one.round_no] < _count_releases(entries, one.round_no, most)
    ]
    if not missing:
        return []
    which = (
        f"round {missing[0]:,}"
        if len(missing) == 1
        else f"{len(missing):,} rounds, the first of them round {missing[0]:,},"
    )
    return [f"{which} asked clients, and the entries of what was released are missing"]


def _plan(entries: list[record.Entry]) -> Plan | None:
    started = record.select_entries(entries, record.Started)
    try:
        return plans.parse(started[0].plan) if started else None
    except TacitError:
        return None


def _count_releases(entries: list[record.Entry], round_no: int, most: int) -> int:
    """Count the releases of a round of the plan; if unknown, `most`, the largest count of any
    round.
    """
    plan, prepared = _plan(entries), record.select_entries(entries, record.Prepared)
    if plan is not None and plan.regime == "local_only":
        return 0  # nothing leaves a client
    if plan is None or plan.regime != "federated" or not prepared:
        return most
    if isinstance(plan.codec, plans.OwnCodec):  # reading a record must not run code that it names
        return most
    try:
        claims = list_round_claims(plan, prepared[0].parameters, prepared[0].clients)
        is_silent = plan.filter is not None and not plan.filter.votes_in(round_no)
        return sum(len(some) for some in claims if not (is_silent and some[0].unit in VOTING_UNITS))
    except TacitError:  # the codec needs the sizes of layers, which are unknown here
        return most


def _compare_totals(entries: list[record.Entry]) -> list[str]:
    """Report if the totals recorded after the last round differ from the sum of the releases."""
    plan = _plan(entries)
    if plan is None:
        return []
    for one in record.select_entries(entries, record.Spent, RUN)[-1:]:
        counted = [
            each
            for each in record.select_entries(entries, Released, RUN)
            if 0 < each.round_no <= one.round_no
        ]
        totals = ledger.compute_totals(ledger.fold_releases(counted), plan.delta)
        if [(each["unit"], each["epsilon"]) for each in one.totals] != [
            (each.unit, each.epsilon) for each in totals
        ]:
            return [f"the totals after round {one.round_no:,} are not the sum of its releases"]
    return []
