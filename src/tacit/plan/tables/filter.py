"""[filter]: clients vote privately on whose data harms the model, before updates are averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.codec import readable
from tacit.plan.kinds import STRICT, Count, Many, Positive

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_Epsilon = Annotated[float, Ge(1e-6), Le(20)]


VOTING_UNITS = ("head", "vote")
"""Units of claims that only voting rounds make."""
VoteRule = Literal["set_sign", "majority_of_point_signs"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Filter:
    """Clients vote privately on whose data harms the model, before updates are averaged."""

    layers: Count = 1
    """Number of last layers that contributors train and testers evaluate
    ([votes](concepts/mechanisms/votes.md#what-may-be-voted-on)).
    """
    epochs: Count = 1
    """Number of passes that contributors make over their rows, training only the last layers."""
    batch: Count | None = None
    """Rows of a contributor's step, on average: each pass deals its rows at random into batches of
    about this size; default: one batch with all rows.
    """
    lr: Positive = 0.1
    """Learning rate of these steps. With small steps, their effect on the loss, and that of noise,
    is first-order.
    """
    batch_rows: Count | None = None
    """A public number of rows by which the sum of gradients is divided; default: each client's own
    number of rows.
    """
    head_scale: Annotated[float, Ge(0), Le(1)] = 1.0
    """Factor of the last layer from which contributors take their steps, and to which testers add
    them. At 1 a model that has converged gives votes nothing to measure
    ([votes](concepts/mechanisms/votes.md#where-a-vote-is-taken)).
    """
    protect: Literal["nothing", "client", "record"] = "nothing"
    """What the noise on a contributor's last layer protects: nothing, all its rows together, or
    each single row.
    """
    epsilon: _Epsilon | None = None
    """`client`, `record`: privacy loss of one round's last layer, per update or per row."""
    delta: Annotated[float, Gt(0), Lt(1)] = 1e-5
    """With `client`, `record` or `votes_epsilon`: probability that the privacy loss exceeds epsilon."""
    clip: Positive | None = None
    """`client`: maximum L2 norm of the change of the last layer; `record`: of one row's gradient.
    """
    vote: VoteRule = "set_sign"
    """A tester votes by the sign of the total change of its loss, or by the majority of the signs
    of its rows.
    """
    vote_epsilon: _Epsilon | Many[_Epsilon] | None = None
    """Privacy loss of one vote, **per vote**; a list lets each tester choose one of its values.
    Without it votes have no noise.
    """
    votes_epsilon: _Epsilon | None = None
    """Under `[secure_aggregation]`, instead of `vote_epsilon`: privacy loss of all votes of a
    tester in a round, at `delta`. The server sees sums of votes, to which helpers add noise.
    """
    testers: Count | None = None
    """Number of testers per contributor, and of contributors per tester, assigned by public
    randomness; default: all other clients.
    """
    test_rows: Count | None = None
    """Number of its held-out rows on which a tester evaluates others in a voting round: other rows
    each time, until all were used; default: all of them, every time.
    """
    until: Count | None = None
    """The last round in which clients vote. Later rounds keep its decision, and send no last layers
    and no votes.
    """
    every: Count = 1
    """Clients vote in round 1 and every this number of rounds; rounds in between keep the decision.
    """
    rule: Literal["zero", "self_tuned"] = "zero"
    """Reject contributors with a score below zero, or below a gap between two groups of scores, if
    there is one.
    """
    max_rejected: Annotated[float, Gt(0), Le(1)] = 0.5
    """Maximum share of contributors that a round rejects, lowest scores first."""
    memory: Annotated[float, Ge(0), Le(1)] = 0.0
    """Weight of the scores of earlier rounds: 0 none, 1 the same as this round's."""
    error_rate: Annotated[float, Gt(0), Lt(0.5)] | None = None
    """Decide by a sequential test over all voting rounds. It rejects, in the whole run, a client
    that at least half of its testers find helpful with at most this probability, and readmits one
    that at least half find harmful with at most the same. Default: each vote decides alone.
    """
    aggregate: Literal["heads", "updates"] = "updates"
    """What is averaged: the last layers that were voted on, or updates of the whole model, to which
    clients commit before the vote.
    """

    def votes_in(self, round_no: int) -> bool:
        """Whether clients vote in a round, counted from 1."""
        return (round_no - 1) % self.every == 0 and (self.until is None or round_no <= self.until)

    def count_votes(self, rounds: int) -> int:
        """Number of the first `rounds` rounds in which clients vote."""
        return -(-min(rounds, self.until or rounds) // self.every)


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    chosen, found = plan.filter, list[str]()
    if chosen is None:
        return found
    if plan.regime != "federated":
        found.append(
            f"[filter] requires regime = 'federated', got {plan.regime!r}; remove the table"
        )
    if plan.personal and chosen.aggregate == "heads":
        found.append(
            "filter.aggregate must be 'updates' with private parameters, which 'heads' never"
            " trains; got 'heads'"
        )
    if not plan.data.local_test:
        found.append(
            "data.local_test is required with [filter]: the share of each client's rows on which it"
            " tests others; try 0.33"
        )
    if not readable(plan.codec):
        found.append(
            "codec.name must be a codec that the server can decode with [filter], since testers"
            f" receive the model from the server; got {plan.codec.name!r}"
        )
    if plan.server.sum_at == "site":
        found.append(
            "server.sum_at must be 'server' with [filter], which accepts or rejects single clients;"
            " got 'site'"
        )
    wants = chosen.protect != "nothing"
    for key in ("epsilon", "clip"):
        if wants != (getattr(chosen, key) is not None):
            found.append(
                f"filter.{key} is required if filter.protect is 'client' or 'record', and only then;"
                f" got {getattr(chosen, key)} with filter.protect = {chosen.protect!r}"
            )
    if chosen.protect == "record" and chosen.batch_rows is None:
        found.append(
            "filter.batch_rows is required with filter.protect = 'record': a public number of rows"
        )
    found += _find_schedule_problems(plan, chosen)
    if chosen.votes_epsilon is not None and plan.secure_aggregation is None:
        found.append(
            "filter.votes_epsilon requires [secure_aggregation], whose helpers add the noise; add"
            " that table, or use filter.vote_epsilon"
        )
    if chosen.votes_epsilon is not None and chosen.vote_epsilon is not None:
        found.append(
            "filter.vote_epsilon cannot be combined with filter.votes_epsilon, which covers all"
            " votes of a round; remove one of them"
        )
    if (
        chosen.testers is not None
        and chosen.testers >= plan.data.clients
        and plan.data.partition != "client"
    ):
        found.append(
            f"filter.testers must be less than data.clients = {plan.data.clients}, got"
            f" {chosen.testers}"
        )
    return found


def _find_schedule_problems(plan: Plan, chosen: Filter) -> list[str]:
    """List contradictions about the rounds that vote, and about the layer that is voted on."""
    found = []
    if chosen.until is not None and chosen.until > plan.server.rounds:
        found.append(
            f"filter.until must be at most server.rounds = {plan.server.rounds:,}, got"
            f" {chosen.until:,}"
        )
    if chosen.every > (chosen.until or plan.server.rounds):
        found.append(
            f"filter.every must be at most {chosen.until or plan.server.rounds:,}, the last round"
            f" that may vote, got {chosen.every:,}; to vote once, set filter.until = 1"
        )
    if chosen.error_rate is not None and chosen.memory:
        found.append(
            "filter.memory cannot be combined with filter.error_rate, which weighs the votes of all"
            " rounds; remove filter.memory"
        )
    if chosen.aggregate == "heads":
        found += [
            f"filter.{key} must be {default} with filter.aggregate = 'heads', where the last layers"
            f" of every round are averaged; got {value}"
            for key, default, value in (
                ("until", "absent", chosen.until),
                ("every", 1, chosen.every),
                ("head_scale", 1, chosen.head_scale),
            )
            if value not in (None, 1)
        ]
    return found
