"""The agreement of a run, from its plan and the facts that both sides know before round one."""

from __future__ import annotations

from dataclasses import dataclass

from tacit import codecs, training
from tacit.plan import Plan, sums_at_site
from tacit.protocol.agreement import Agreement
from tacit.randomness import PublicDraws
from tacit.runs.record import RUN


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What both sides know of a run in addition to its plan. Nothing in it is secret.

    `identity` is in the addresses of noise and `digest` in those of seals (see `Agreement`).
    `helpers` are the public keys of the helpers of secure aggregation. `arm` names the plan itself
    or a baseline, for the record. `sites` is the number of sites; None in a simulation.
    """

    run: str
    identity: str
    clients: int
    public: PublicDraws
    largest_weight: int
    digest: str | None = None
    helpers: tuple[bytes, ...] = ()
    arm: str = RUN
    sites: int | None = None


def build_agreement(plan: Plan, facts: RunFacts, learner: training.Learner) -> Agreement:
    """Build the public terms of a run; raise PlanError if weights could not be counted exactly."""
    extent = codecs.Extent.of(plan, facts.clients, learner.layers)
    agreement = Agreement(
        run=facts.run,
        identity=facts.identity,
        digest=facts.digest,
        dim=learner.size,
        codec=codecs.build(plan.codec, extent),
        public=facts.public,
        server=plan.server,
        largest_weight=facts.largest_weight,
        sum_at_site=sums_at_site(plan, facts.clients, facts.sites),
    )
    agreement.check(facts.clients)
    if plan.statistics is not None:
        from tacit.assembly.queries.learner import StatisticsLearner

        assert isinstance(learner, StatisticsLearner), "queries have a learner of their own"
        learner.calibrate(agreement.codec, facts.clients)
    return agreement
