"""[filter]: clients vote, in private, on whose data harms the model, before anything is
averaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Many, Positive

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_Epsilon = Annotated[float, Ge(1e-6), Le(20)]


VoteRule = Literal["set_sign", "majority_of_point_signs"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Filter:
    """Clients vote, in private, on whose data harms the model, before anything is averaged."""

    epochs: Count = 1
    """Contributors take so many full-batch steps, on the last layer alone."""
    lr: Positive = 0.1
    """Their learning rate. Small steps keep the effect on the loss, and of noise on it, of first
    order.
    """
    batch_rows: Count | None = None
    """A public number of rows to divide the sum of gradients by; without it each client divides by
    its own number.
    """
    protect: Literal["nothing", "client", "record"] = "nothing"
    """What noise on a contributor's last layer hides: nothing, all its rows together, or each
    single row.
    """
    epsilon: _Epsilon | None = None
    """`client`, `record`: the loss of one round's last layer, per update or per row of it."""
    delta: Annotated[float, Gt(0), Lt(1)] = 1e-5
    """`client`, `record`, `votes_epsilon`: the chance that the loss is larger."""
    clip: Positive | None = None
    """`client`: the largest length of the change of the last layer; `record`: of one row's
    gradient.
    """
    vote: VoteRule = "set_sign"
    """A tester votes by the sign of the summed change of its loss, or by the majority of its rows'
    signs.
    """
    vote_epsilon: _Epsilon | Many[_Epsilon] | None = None
    """The loss one vote may cost, **per vote**; a list lets each tester choose one of them. Without
    it votes are not noised.
    """
    votes_epsilon: _Epsilon | None = None
    """Under `[secure_aggregation]`, instead of `vote_epsilon`: the loss all votes of a tester in a
    round may cost together, at `delta`. The server sees sums of votes, to which helpers add noise.
    """
    testers: Count | None = None
    """So many testers vote on each contributor, and each tester votes so often, by public
    randomness; if unset, all others.
    """
    rule: Literal["zero", "self_tuned"] = "zero"
    """Reject below zero, or below a gap between two groups of scores, where there is one."""
    max_rejected: Annotated[float, Gt(0), Le(1)] = 0.5
    """At most this share of the contributors is rejected in a round, the lowest scores first."""
    memory: Annotated[float, Ge(0), Le(1)] = 0.0
    """How much scores of former rounds count: 0 not at all, 1 as much as this round's."""
    aggregate: Literal["heads", "updates"] = "updates"
    """What is averaged: the very last layers that were voted on, or updates of the whole model,
    committed to before the vote.
    """


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    chosen, found = plan.filter, list[str]()
    if chosen is None:
        return found
    if plan.regime != "federated":
        found.append(f"filter: needs regime = 'federated', got {plan.regime!r}; remove the table")
    if plan.personal and chosen.aggregate == "heads":
        found.append(
            "filter.aggregate: needs 'updates' where a part of the model stays with each client,"
            " since with 'heads' that part is never trained; got 'heads'"
        )
    if not plan.data.local_test:
        found.append(
            "data.local_test: needs a share of each client's rows to test others on, since there is"
            " a [filter]; try 0.33"
        )
    if plan.codec.name == "hashcomb":
        found.append(
            "codec.name: needs a codec the server can read, since testers get the model from it;"
            " got 'hashcomb'"
        )
    if plan.server.sum_at == "site":
        found.append(
            "server.sum_at: needs 'server', since single clients are accepted or rejected; got"
            " 'site'"
        )
    wants = chosen.protect != "nothing"
    for key in ("epsilon", "clip"):
        if wants != (getattr(chosen, key) is not None):
            needs = "a value" if wants else "no value"
            found.append(
                f"filter.{key}: needs {needs}, since filter.protect = {chosen.protect!r}; got"
                f" {getattr(chosen, key)}"
            )
    if chosen.protect == "record" and chosen.batch_rows is None:
        found.append(
            "filter.batch_rows: needs a public number of rows, since filter.protect = 'record'; got"
            " nothing"
        )
    if chosen.votes_epsilon is not None and plan.secure_aggregation is None:
        found.append(
            "filter.votes_epsilon: needs [secure_aggregation], whose helpers add the noise; add"
            " one, or"
            " use filter.vote_epsilon"
        )
    if chosen.votes_epsilon is not None and chosen.vote_epsilon is not None:
        found.append(
            "filter.vote_epsilon: needs no value, since filter.votes_epsilon covers all votes of a"
            " round; got one"
        )
    if (
        chosen.testers is not None
        and chosen.testers >= plan.data.clients
        and plan.data.partition != "client"
    ):
        found.append(
            f"filter.testers: needs fewer than data.clients = {plan.data.clients}, got"
            f" {chosen.testers}"
        )
    return found
