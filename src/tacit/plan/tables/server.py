"""[server]: how the server picks clients, weighs them, and moves the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, assert_never

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.codec import DPSum, HashComb, OneBit, Skellam
from tacit.plan.kinds import STRICT, Count, Positive, Share

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


Rule = Literal[
    "mean",
    "median",
    "trimmed_mean",
    "multi_krum",
    "geometric_median",
    "centred_clipping",
    "norm_bound",
    "foolsgold",
    "fltrust",
    "zeno",
]
_COUNT_BAD: tuple[Rule, ...] = ("trimmed_mean", "multi_krum", "zeno")
_BOUNDED: tuple[Rule, ...] = ("norm_bound", "centred_clipping")
_WEIGHTED: tuple[Rule, ...] = ("mean", "norm_bound", "geometric_median")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Server:
    """How the server picks clients, weighs them, and moves the model."""

    rounds: Count = 20
    """How many rounds."""
    cohort: Literal["all", "count", "poisson"] = "all"
    """Who takes part in a round: everybody, a fixed number, or each with equal probability."""
    cohort_size: Count | None = None
    """How many (`count`), or how many on average (`poisson`)."""
    weights: Literal["equal", "rows", "capped"] = "equal"
    """How much a client counts: all the same, by its rows, or by its rows up to a cap. The server
    sees it.
    """
    weight_cap: Count | None = None
    """`capped`: the cap, in rows."""
    sum_at: Literal["server", "site"] = "server"
    """Where answers are added up: at the server, or first at each site, over its own clients. A
    simulation computes the same.
    """
    rule: Rule = "mean"
    """How updates become one: their mean, or a rule that a few bad clients cannot lead, for which
    the server reads each update by itself ([lazyinf.md](lazyinf.md)). Randomised updates are read
    as noisy ones.
    """
    mix: bool = False
    """Before the rule, replace each update by the mean of its nearest, all but `assumed_bad` of
    them.
    """
    assumed_bad: Share | None = None
    """`trimmed_mean`, `multi_krum`, `zeno`, `mix`: which share of a round's clients may be bad;
    below half, except for `zeno`.
    """
    bound: Positive | None = None
    """`norm_bound`, `centred_clipping`: how far (l2) an update may reach from zero or from the last
    mean; otherwise the median.
    """
    optimizer: Literal["sgd", "momentum", "adam", "yogi"] = "sgd"
    """What the server does with the mean update; `sgd` with `lr = 1.0` is plain averaging."""
    lr: Positive = 1.0
    """The server's learning rate."""
    momentum: Share = 0.9
    """Decay of its first moment (`momentum`, `adam`, `yogi`)."""
    soften: Annotated[float, Ge(0), Le(10)] = 0.0
    """Pull each weight of the model that is measured and kept towards its first value, by this many
    standard deviations of the noise in it, and no further than to it. Costs no privacy, since the
    noise is public; training goes on without it.
    """
    evaluate_every: Count = 1
    """Measure on the test rows every so many rounds, and after the last."""
    test_rows: Count | None = None
    """Where clients have models of their own: measure each on at most so many common test rows."""
    test_clients: Count | None = None
    """Where clients have models of their own: measure so many of them after the last round."""
    patience: Count | None = None
    """Stop after so many measurements without a lower loss; where sites measure, which send no
    loss, without fewer errors.
    """

    def is_evaluated(self, round_no: int) -> bool:
        """Whether the model after a round is measured."""
        return round_no % self.evaluate_every == 0 or round_no == self.rounds

    @property
    def one_by_one(self) -> bool:
        """Return whether the server reads each update by itself, and not only their sum."""
        return self.rule != "mean" or self.mix

    @property
    def sums_at_site(self) -> bool:
        """Return whether a site adds up its own clients' answers before anything leaves it."""
        match self.sum_at:
            case "server":
                return False
            case "site":
                return True
            case _:
                assert_never(self.sum_at)

    @property
    def judges(self) -> bool:
        """Return whether the rule needs a server with rows of its own."""
        return self.rule in ("fltrust", "zeno")


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    server, found = plan.server, []
    if server.cohort != "all" and server.cohort_size is None:
        found.append(
            "server.cohort_size: needs a number of clients, since server.cohort ="
            f" {server.cohort!r}; got nothing"
        )
    if server.cohort == "all" and server.cohort_size is not None:
        found.append(
            "server.cohort_size: has no meaning with server.cohort = 'all'; use 'count' or"
            " 'poisson', or remove it"
        )
    if (
        server.cohort_size
        and server.cohort_size > plan.data.clients
        and plan.data.partition != "client"
    ):
        found.append(
            f"server.cohort_size: needs at most data.clients = {plan.data.clients}; got"
            f" {server.cohort_size}"
        )
    if server.weights == "capped" and server.weight_cap is None:
        found.append(
            "server.weight_cap: needs a number of rows, since server.weights = 'capped'; got"
            " nothing"
        )
    if server.weights != "capped" and server.weight_cap is not None:
        found.append(
            f"server.weight_cap: has no meaning with server.weights = {server.weights!r}; use"
            " 'capped' or remove it"
        )
    if server.sum_at == "site" and plan.regime != "federated":
        found.append(
            f"server.sum_at: has no meaning with regime = {plan.regime!r}, in which nobody sends"
            " anything; remove it"
        )
    if server.soften and server.optimizer not in ("sgd", "momentum"):
        found.append(
            "server.soften: needs server.optimizer = 'sgd' or 'momentum', whose noise adds up; got"
            f" {server.optimizer!r}"
        )
    found += _rule_problems(plan)
    if server.evaluate_every > server.rounds:
        found.append(
            f"server.evaluate_every: needs at most server.rounds = {server.rounds}; got"
            f" {server.evaluate_every}"
        )
    if not plan.personal:
        for key in ("test_rows", "test_clients"):
            if getattr(server, key) is not None:
                found.append(
                    f"server.{key}: has no meaning where all clients have one model; use"
                    " data.limit, or remove it"
                )
    return found


def _rule_problems(plan: Plan) -> list[str]:
    """Return what does not fit the rule by which updates become one."""
    server, found = plan.server, []
    counts, said = server.rule in _COUNT_BAD or server.mix, _said(server)
    if counts and server.assumed_bad is None:
        found.append(
            f"server.assumed_bad: needs the share of clients that may be bad, since {said}; got"
            " nothing"
        )
    if not counts and server.assumed_bad is not None:
        found.append(
            f"server.assumed_bad: has no meaning with {said}; use 'trimmed_mean', 'multi_krum',"
            " 'zeno' or mix, or remove it"
        )
    if (
        server.assumed_bad is not None
        and server.assumed_bad >= 0.5
        and (server.mix or server.rule != "zeno")
    ):
        found.append(
            "server.assumed_bad: needs a value below 0.5, for no rule tells which half is bad; got"
            f" {server.assumed_bad:g}"
        )
    if server.bound is not None and server.rule not in _BOUNDED:
        found.append(
            f"server.bound: has no meaning with {said}; use 'norm_bound' or 'centred_clipping', or"
            " remove it"
        )
    if not server.one_by_one:
        return found
    if server.judges and plan.public is None:
        found.append(
            f"public: needs this table, since {said} takes rows at the center; got nothing"
        )
    if plan.regime != "federated":
        found.append(
            f"server.rule: has no meaning with regime = {plan.regime!r}, in which nobody sends"
            " anything; remove it"
        )
    if plan.filter is not None and plan.filter.aggregate == "heads":
        found.append(
            f"filter.aggregate: needs 'updates' with {said}, which reads updates of the whole"
            " model; got 'heads'"
        )
    if server.sum_at == "site":
        found.append(
            f"server.sum_at: needs 'server' with {said}, which reads each update by itself; got"
            " 'site'"
        )
    if isinstance(plan.codec, HashComb):
        found.append(
            f"codec.name: needs a codec the server can read with {said}; got {plan.codec.name!r},"
            " which only clients can"
        )
    if isinstance(plan.codec, DPSum | OneBit | Skellam):
        found.append(
            f"codec.name: needs noise at each client or none with {said}; got {plan.codec.name!r},"
            " whose noise is for a sum"
        )
    if server.weights != "equal" and (server.mix or server.rule not in _WEIGHTED):
        found.append(
            f"server.weights: needs 'equal' with {said}, by which each client counts once; got"
            f" {server.weights!r}"
        )
    return found


def _said(server: Server) -> str:
    return f"server.rule = {server.rule!r}{' and server.mix' if server.mix else ''}"
