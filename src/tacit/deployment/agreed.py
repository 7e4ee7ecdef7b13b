"""What server and sites build alike from a plan and the terms of its run: the agreement, and the
exchanges of a round.
"""

from __future__ import annotations

from tacit import codecs, training
from tacit.codecs import Codec
from tacit.deployment.bodies import Terms
from tacit.plan import Plan
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges import SecureTrain, Train, exchanges_of
from tacit.protocol.exchanges.sharing import Sharing, sharing_for
from tacit.protocol.exchanges.train import Member, nobody
from tacit.protocol.round import Exchange
from tacit.randomness import Draws, PublicDraws
from tacit.runs.record import RUN


def agreement_of(plan: Plan, terms: Terms, digest: str, learner: training.Learner) -> Agreement:
    """Return a run's public terms; `digest` is theirs and the plan's, as whoever calls this
    computed it (`run_digest`).
    """
    agreement = Agreement(
        run=terms.run,
        identity=terms.identity or digest,
        digest=digest,
        dim=learner.size,
        codec=codecs.build(plan.codec, codecs.Extent.of(plan, terms.clients, learner.layers)),
        public=PublicDraws(terms.public),
        server=plan.server,
        largest_weight=terms.largest_weight,
        sum_at_site=plan.server.sums_at_site,
    )
    agreement.check(terms.clients)
    return agreement


def round_of(
    plan: Plan,
    terms: Terms,
    agreement: Agreement,
    head: training.HeadPlace | None,
    draws: Draws,
    member: Member = nobody,
) -> tuple[Exchange, ...]:
    """Return the exchanges of one round; `draws` are those of whoever builds them."""

    def sharing(exchange: str, made: Codec, dim: int) -> Sharing:
        assert plan.secure_sum is not None
        return sharing_for(plan.secure_sum, agreement, tuple(terms.helpers), exchange, made, dim)

    if plan.secure_sum is not None and agreement.codec.whole is not None:
        train: Train = SecureTrain(
            agreement, draws, sharing(Train.name, agreement.codec, agreement.dim), member
        )
    else:
        train = Train(agreement, draws, member)
    return exchanges_of(plan, train, RUN, head, terms.clients, sharing)
