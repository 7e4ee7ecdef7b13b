"""What an approval is about: the offer with its plan, the server, the coordinator, the site's rows and
the cost. A run that differs in one of them needs a new approval.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from tacit.data.read import is_file_source
from tacit.deployment.bodies import Offer
from tacit.deployment.deployable_plan import remove_simulation_settings
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.rows.changed_rows import Change, fingerprint_files, read_change
from tacit.deployment.site.stored_runs import hash_plan, read_plan
from tacit.errors import DataError
from tacit.privacy.policy import Policy, Requirements, find_measures_too_costly
from tacit.privacy.site_ledger.chain import encode_canonical
from tacit.privacy.site_ledger.decisions import BoundFacts, hash_bound
from tacit.runs.fingerprint import fingerprint_plan

_TOLERANCE = 1e-9
COST = "cost"


@dataclass(frozen=True, kw_only=True)
class RunCost:
    """The privacy loss of a run per client, at `delta`. An epsilon of None is not known before the
    rows are read; `without_epsilon` says that something is also sent for which none exists. `counts`
    says that noisy counts of held-out rows are part of it.
    """

    epsilon: float | None
    delta: float
    rounds: int
    counts: bool
    without_epsilon: bool

    def exceeds(self, approved: RunCost) -> bool:
        """Whether this is more than was approved. An epsilon that is not known yet is judged once it
        is; an approval of an unknown one covers no known one.
        """
        if self.epsilon is not None and (
            approved.epsilon is None or self.epsilon > approved.epsilon * (1 + _TOLERANCE)
        ):
            return True
        return (
            self.delta > approved.delta * (1 + _TOLERANCE)
            or self.rounds > approved.rounds
            or self.counts > approved.counts
            or self.without_epsilon > approved.without_epsilon
        )


def compute_cost(policy: Policy, asked: Requirements) -> RunCost:
    """The cost of a run under a policy, from what its plan requires."""
    counts = (
        asked.epsilon_with_measures is not None
        and policy.measures.counts == "noisy"
        and not find_measures_too_costly(policy, asked)
    )
    return RunCost(
        epsilon=asked.epsilon_with_measures if counts else asked.epsilon_per_run,
        delta=asked.delta,
        rounds=asked.rounds,
        counts=counts,
        without_epsilon=asked.unbounded,
    )


def collect_bound_facts(
    owner: Owner, policy: Policy, run: str, body: bytes, offer: Offer, asked: Requirements
) -> BoundFacts:
    """Everything that an approval of an offered run binds; `body` is the offer as it was received."""
    return {
        "run": run,
        "plan": _hash_offered_plan(offer),
        "text": hashlib.sha256(offer.plan.encode()).hexdigest(),
        "offer": hashlib.sha256(body).hexdigest(),
        "schema": asked.schema or "",
        "server": owner.server,
        "authority": owner.authority,
        "coordinator": "",
        "data": fingerprint_data(owner),
        "unit": str(owner.unit),
        COST: asdict(compute_cost(policy, asked)),
    }


def _hash_offered_plan(offer: Offer) -> str:
    """The hash that `tacit site policy check` prints for the offered plan; the plan that runs here may
    name another file of the owner.
    """
    plan = read_plan(offer, hash_plan(offer))
    return fingerprint_plan(remove_simulation_settings(plan))


def read_cost(bound: BoundFacts) -> RunCost:
    """The cost in bound facts."""
    return RunCost(**bound[COST])


def is_covered(approved: BoundFacts, now: BoundFacts) -> bool:
    """Whether an approval covers what is asked now: the same in everything, at no higher cost."""
    same = {**approved, COST: None} == {**now, COST: None}
    return same and not read_cost(now).exceeds(read_cost(approved))


def list_changes(approved: BoundFacts, now: BoundFacts) -> list[str]:
    """What differs from the facts of an approval, in words."""
    words = {
        "offer": "the offer",
        "text": "the plan",
        "schema": "the schema",
        "server": "the server's address",
        "authority": "the server's certificate authority",
        "coordinator": "the coordinator",
        "data": "your rows or how they are read",
        "unit": "who the clients are",
    }
    found = [text for key, text in words.items() if approved.get(key) != now.get(key)]
    if read_cost(now).exceeds(read_cost(approved)):
        found.append("the cost")
    return found


def fingerprint_data(owner: Owner) -> str:
    """Keyed fingerprint of the site's rows, who their clients are, and how they are read."""
    facts: dict[str, Any] = {
        "unit": [owner.unit.client, owner.unit.one_client, list(owner.unit.quasi_identifiers)],
        "encoding": owner.encoding,
        "header": owner.header,
        "decimal": owner.decimal,
        "source": owner.source,
        "rows": _fingerprint_source(owner),
    }
    key = hmac.digest(owner.secret, b"tacit rows of an approval", "sha256")
    return hmac.digest(key, encode_canonical(facts), "sha256").hex()


def _fingerprint_source(owner: Owner) -> str:
    if not is_file_source(owner.source):
        return ""
    try:
        return _fingerprint_once(owner.source, read_change(owner.source), owner.secret)
    except (OSError, DataError):
        return "unreadable"


@lru_cache(maxsize=4)
def _fingerprint_once(source: str, change: Change, secret: bytes) -> str:
    """The fingerprint of files that have not changed since they were read."""
    return fingerprint_files(source, secret)


__all__ = [
    "BoundFacts",
    "RunCost",
    "collect_bound_facts",
    "compute_cost",
    "fingerprint_data",
    "hash_bound",
    "is_covered",
    "list_changes",
    "read_cost",
]
