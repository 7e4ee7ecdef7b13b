"""Whether a record tells all that a run of its plan must have left in it: every round that asked
clients has its releases.
"""

from __future__ import annotations

from collections import Counter

from tacit import plan as plans
from tacit.errors import TacitError
from tacit.plan import Plan
from tacit.privacy import ledger
from tacit.protocol.round_claims import list_round_claims
from tacit.runs import record
from tacit.runs.record import RUN, Released, Round


def list_missing(entries: list[record.Entry]) -> list[str]:
    """Return a sentence for each thing that is missing from the entries that stand; none if all is
    there.

    Looked at is the run itself: baselines promise nothing.
    """
    rounds = record.select_entries(entries, Round, RUN)
    numbers = [one.round_no for one in rounds]
    wrong = []
    if numbers != list(range(1, len(numbers) + 1)):
        wrong.append(f"its rounds are not numbered from 1 to {len(numbers):,}, each once")
    for end in record.select_entries(entries, record.Finished, RUN):
        if end.rounds != len(numbers):
            wrong.append(
                f"it ended after {end.rounds:,} rounds and has entries of {len(numbers):,}"
            )
    return [*wrong, *_without_release(entries, rounds), *_spent_otherwise(entries)]


def _without_release(entries: list[record.Entry], rounds: list[Round]) -> list[str]:
    """Return which rounds asked clients without the releases of the plan."""
    released = [
        one
        for one in record.select_entries(entries, Released, RUN)
        if one.round_no and not one.superseded
    ]
    found = Counter(one.round_no for one in released)
    needed = _releases_per_round(entries, max(found.values(), default=1))
    missing = [one.round_no for one in rounds if one.cohort and found[one.round_no] < needed]
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


def _releases_per_round(entries: list[record.Entry], most: int) -> int:
    """Return how many releases a round of the plan has; where the plan does not say, as many as the
    round with the most.
    """
    plan, prepared = _plan(entries), record.select_entries(entries, record.Prepared)
    if plan is not None and plan.regime == "local_only":
        return 0  # nothing leaves a client
    if plan is None or plan.regime != "federated" or not prepared:
        return most
    if isinstance(plan.codec, plans.OwnCodec):  # reading a record runs no code that it names
        return most
    try:
        return sum(
            len(claims)
            for claims in list_round_claims(plan, prepared[0].parameters, prepared[0].clients)
        )
    except TacitError:  # a codec that must know the sizes of layers
        return most


def _spent_otherwise(entries: list[record.Entry]) -> list[str]:
    """Return whether the totals that were written after the last round are not those of the
    releases up to it.
    """
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
            return [f"what was spent after round {one.round_no:,} is not the sum of its releases"]
    return []
