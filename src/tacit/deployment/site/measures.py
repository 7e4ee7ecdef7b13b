"""How a site responds to a measure: which held-out rows count, the privacy loss of the counts, and
when none are sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.stages.integer_updates import Loss
from tacit.codecs.votes import noisy_counts
from tacit.codecs.votes.noisy_counts import CountNoise
from tacit.deployment.agenda import count_measured_rounds
from tacit.plan import Plan
from tacit.privacy.claim import Claim, Relation
from tacit.privacy.policy import Measures, Policy
from tacit.rows import Rows

Claims = tuple[Claim, ...]
_PER_CLIENT = ("replace all rows of one client", "add or remove one client")


class MeasuredRows(NamedTuple):
    """Rows that a model is evaluated on, the owner of each, and the keyed hash by which rows of a
    client are chosen.
    """

    rows: Rows
    owners: NDArray[np.object_]
    marks: NDArray[np.uint64]

    def count_for(self, rows_each: int | None) -> NDArray[np.int64]:
        """Indices of the rows that count: at most `rows_each` of each client, those with the
        smallest marks; all if None.
        """
        if rows_each is None:
            return np.arange(len(self.owners))
        taken: dict[str, int] = {}
        found = []
        for place in np.lexsort((self.marks, self.owners.astype(str))).tolist():
            owner = self.owners[place]
            taken[owner] = taken.get(owner, 0) + 1
            if taken[owner] <= rows_each:
                found.append(place)
        return np.sort(np.array(found, np.int64))


def get_rows_per_client(settings: Measures) -> int | None:
    """The largest number of rows of a client that count; None where all do."""
    return settings.rows_per_client if settings.counts == "noisy" else None


def find_obstacle(settings: Measures, rows: int, clients: int) -> str:
    """Why no counts are sent, naming the policy key; empty if they are sent.

    With noisy counts `rows` and `clients` are noisy too, so that whether counts are sent reveals no
    more than the counts.
    """
    if settings.counts == "off":
        return 'measures.counts = "off": no counts are sent'
    if rows < settings.min_rows:
        return (
            f"measures.min_rows = {settings.min_rows:,}: about {rows:,} held-out rows count, so"
            " no counts are sent"
        )
    if clients < settings.min_clients:
        return (
            f"measures.min_clients = {settings.min_clients:,}: about {clients:,} clients have"
            " some, so no counts are sent"
        )
    return ""


def build_count_noise(plan: Plan, policy: Policy) -> CountNoise | None:
    """The noise of each measure of a run, by the owner's policy; None where counts are exact or not
    sent.
    """
    settings, releases = policy.measures, count_measured_rounds(plan)
    if settings.counts != "noisy" or not releases:
        return None
    loss = Loss(epsilon=settings.epsilon, delta=min(plan.delta, policy.limits.delta))
    return noisy_counts.choose_count_noise(
        loss, rows_each=settings.rows_per_client, releases=releases
    )


def build_measure_claims(plan: Plan, policy: Policy, others: Iterable[Claims]) -> Claims:
    """The claims of one measure, under the neighbouring relation of the run's other claims, so that
    they compose; none without noise.
    """
    noise = build_count_noise(plan, policy)
    return () if noise is None else (noise.claim(find_relation(others)),)


def find_relation(others: Iterable[Claims]) -> Relation:
    """The neighbouring relation of a run's claims about clients."""
    found = (
        claim.relation for claims in others for claim in claims if claim.relation in _PER_CLIENT
    )
    return next(found, "replace all rows of one client")
