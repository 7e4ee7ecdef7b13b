"""[server]: how the server samples clients, weights them, and updates the model."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Literal, assert_never, get_args

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.extensions import Reference
from tacit.plan.codec import DPSum, OneBit, Skellam, readable, sums_integers
from tacit.plan.kinds import STRICT, Count, Name, OrOwn, Positive, Setting, Share

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
LEAST_CLIENTS_PER_SITE = 100
"""With fewer clients a site's sum of 64-bit integers may be larger than the responses in it."""
_BOUNDED: tuple[Rule, ...] = ("norm_bound", "centred_clipping")
_WEIGHTED: tuple[Rule, ...] = ("mean", "norm_bound", "geometric_median")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Server:
    """How the server samples clients, weights them, and updates the model."""

    rounds: Count = 20
    """Number of rounds."""
    cohort: Literal["all", "count", "poisson"] = "all"
    """Clients of a round: all, a fixed number, or each with equal probability (Poisson sampling).
    """
    cohort_size: Count | None = None
    """Size of the cohort (`count`), or its expected size (`poisson`)."""
    weights: Literal["equal", "rows", "capped"] = "equal"
    """Weight of a client: the same for all, its number of rows, or that number up to a cap. The
    server sees the weight.
    """
    weight_cap: Count | None = None
    """`capped`: the cap, in rows."""
    sum_at: Literal["auto", "server", "site"] = "auto"
    """Where responses are added: at the server, or first at each site, over its own clients.
    `auto`: at the sites if they have 100 clients or more on average, the codec's sums are sums of
    integers, and the plan needs no single responses; otherwise at the server. A simulation computes
    the same result.
    """
    deliver_to: Literal["participants", "nobody"] = "participants"
    """Between sites: who receives the final model at the end of the run, besides the server that
    trained it: every site that took part, or nobody ([deploy.md](guides/deploy.md#the-model-at-the-sites)).
    A simulation ignores it.
    """
    rule: Annotated[Rule | Reference, OrOwn("rules", get_args(Rule).__contains__)] = "mean"
    """Aggregation rule: the mean, or a rule that is robust to a few bad clients, for which the
    server decodes each update separately ([robust aggregation](guides/robust-aggregation.md)). Randomised updates are decoded
    as noisy ones. Also a rule of your own, as `package.module:name` or an entry point of the group
    `tacit.rules` ([extend.md](guides/extend.md)).
    """
    rule_settings: dict[Name, Setting] = field(default_factory=dict)
    """A rule of your own: what it takes as keyword arguments."""
    mix: bool = False
    """Before the rule, replace each update by the mean of its nearest neighbours: a share of 1 -
    `assumed_bad` of all updates.
    """
    assumed_bad: Share | None = None
    """`trimmed_mean`, `multi_krum`, `zeno`, `mix`, a rule of your own: share of a round's clients
    that may be bad; less than half, except for `zeno`.
    """
    bound: Positive | None = None
    """`norm_bound`, `centred_clipping`, a rule of your own: maximum L2 distance of an update from
    zero or from the last mean; default: the median distance.
    """
    optimizer: Literal["sgd", "momentum", "adam", "yogi"] = "sgd"
    """The server's optimiser, applied to the mean update; `sgd` with `lr = 1.0` is plain averaging.
    """
    lr: Positive = 1.0
    """The server's learning rate."""
    momentum: Share = 0.9
    """Decay of the first moment (`momentum`, `adam`, `yogi`)."""
    soften: Annotated[float, Ge(0), Le(10)] = 0.0
    """Soft thresholding of the evaluated and stored model: move each weight towards its initial
    value, at most onto it, by this number of standard deviations of its noise. It adds no privacy
    loss, since the noise level is public; training continues from the unmodified model.
    """
    evaluate_every: Count = 1
    """Evaluate on the test rows every this number of rounds, and after the last."""
    test_rows: Count | None = None
    """If clients have their own models: maximum number of common test rows to evaluate each on."""
    test_clients: Count | None = None
    """If clients have their own models: number of models to evaluate after the last round."""
    patience: Count | None = None
    """Early stopping: stop after this number of evaluations without a lower loss; between sites,
    which send no loss, without fewer errors.
    """

    def is_evaluated(self, round_no: int) -> bool:
        """Whether the model after a round is evaluated."""
        return round_no % self.evaluate_every == 0 or round_no == self.rounds

    @property
    def one_by_one(self) -> bool:
        """Whether the server decodes each update separately, not only their sum."""
        return self.rule != "mean" or self.mix

    @property
    def own_rule(self) -> Reference | None:
        """The user-defined rule, if the plan names one."""
        return self.rule if isinstance(self.rule, Reference) else None

    @property
    def delivers_model(self) -> bool:
        """Whether the sites that took part receive the final model."""
        match self.deliver_to:
            case "participants":
                return True
            case "nobody":
                return False
            case _:
                assert_never(self.deliver_to)

    @property
    def judges(self) -> bool:
        """Whether the rule requires a server with its own rows."""
        return self.rule in ("fltrust", "zeno")


def sums_at_site(plan: Plan, clients: int, sites: int | None) -> bool:
    """Whether a site adds its clients' responses before anything leaves it; `sites` is None in a
    simulation.

    Sums of integers are exact in any order. So the model is the same to the bit wherever they are
    added, and with `auto` the numbers of clients and sites may decide.
    """
    match plan.server.sum_at:
        case "server":
            return False
        case "site":
            return True
        case "auto":
            return (
                sites is not None
                and clients >= LEAST_CLIENTS_PER_SITE * sites
                and sums_integers(plan.codec)
                and not plan.server.one_by_one
                and plan.filter is None
                and plan.secure_aggregation is None
                and plan.data.share is None
            )
        case _:
            assert_never(plan.server.sum_at)


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    server, found = plan.server, []
    if server.cohort != "all" and server.cohort_size is None:
        found.append(
            f"server.cohort_size is required with server.cohort = {server.cohort!r}: a number of"
            " clients"
        )
    if server.cohort == "all" and server.cohort_size is not None:
        found.append(
            "server.cohort_size cannot be used with server.cohort = 'all'; use 'count' or"
            " 'poisson', or remove it"
        )
    if (
        server.cohort_size
        and server.cohort_size > plan.data.clients
        and plan.data.partition != "client"
    ):
        found.append(
            f"server.cohort_size must be at most data.clients = {plan.data.clients}, got"
            f" {server.cohort_size}"
        )
    if server.weights == "capped" and server.weight_cap is None:
        found.append(
            "server.weight_cap is required with server.weights = 'capped': a number of rows"
        )
    if server.weights != "capped" and server.weight_cap is not None:
        found.append(
            f"server.weight_cap cannot be used with server.weights = {server.weights!r}; use"
            " 'capped' or remove it"
        )
    if server.sum_at == "site" and plan.regime != "federated":
        found.append(
            f"server.sum_at cannot be used with regime = {plan.regime!r}, which sends no updates;"
            " remove it"
        )
    if not server.delivers_model and not readable(plan.codec):
        found.append(
            f"server.deliver_to must be 'participants' with codec.name = {plan.codec.name!r}, whose model only"
            " clients can decode, at their sites; got 'nobody'"
        )
    if server.soften and server.optimizer not in ("sgd", "momentum"):
        found.append(
            "server.soften requires server.optimizer = 'sgd' or 'momentum', whose noise is a linear"
            f" sum; got {server.optimizer!r}"
        )
    found += _rule_problems(plan)
    if server.evaluate_every > server.rounds:
        found.append(
            f"server.evaluate_every must be at most server.rounds = {server.rounds}, got"
            f" {server.evaluate_every}"
        )
    if not plan.personal:
        for key in ("test_rows", "test_clients"):
            if getattr(server, key) is not None:
                found.append(
                    f"server.{key} cannot be used if all clients share one model; use data.limit,"
                    " or remove it"
                )
    return found


def _rule_problems(plan: Plan) -> list[str]:
    """List settings that contradict the aggregation rule, one sentence each."""
    server, found = plan.server, []
    counts, rule = server.rule in _COUNT_BAD or server.mix, _name_rule(server)
    if counts and server.assumed_bad is None:
        found.append(
            f"server.assumed_bad is required with {rule}: the share of clients that may be bad"
        )
    if not counts and server.assumed_bad is not None and not server.own_rule:
        found.append(
            f"server.assumed_bad cannot be used with {rule}; use 'trimmed_mean', 'multi_krum',"
            " 'zeno' or mix, or remove it"
        )
    if (
        server.assumed_bad is not None
        and server.assumed_bad >= 0.5
        and (server.mix or server.rule != "zeno")
    ):
        found.append(
            "server.assumed_bad must be less than 0.5, since no rule can tell which half is bad;"
            f" got {server.assumed_bad:g}"
        )
    if server.rule_settings and not server.own_rule:
        found.append(
            f"server.rule_settings cannot be used with {rule}; name a rule of your own, or remove"
            " it"
        )
    if server.bound is not None and server.rule not in _BOUNDED and not server.own_rule:
        found.append(
            f"server.bound cannot be used with {rule}; use 'norm_bound' or 'centred_clipping', or"
            " remove it"
        )
    if not server.one_by_one:
        return found
    if server.judges and plan.public is None:
        found.append(f"[public] is required with {rule}, which uses rows of the server")
    if plan.regime != "federated":
        found.append(
            f"server.rule cannot be used with regime = {plan.regime!r}, which sends no updates;"
            " remove it"
        )
    if plan.filter is not None and plan.filter.aggregate == "heads":
        found.append(
            f"filter.aggregate must be 'updates' with {rule}, which reads updates of the whole"
            " model; got 'heads'"
        )
    if server.sum_at == "site":
        found.append(
            f"server.sum_at must be 'server' with {rule}, which decodes each update separately; got"
            " 'site'"
        )
    if not readable(plan.codec):
        found.append(
            f"codec.name must be a codec that the server can decode with {rule}; got"
            f" {plan.codec.name!r}, which only clients can decode"
        )
    if isinstance(plan.codec, DPSum | OneBit | Skellam):
        found.append(
            f"codec.name must be a codec with noise at each client, or without noise, with {rule};"
            f" got {plan.codec.name!r}, whose noise is for a sum"
        )
    if server.weights != "equal" and (
        server.mix or not (server.own_rule or server.rule in _WEIGHTED)
    ):
        found.append(
            f"server.weights must be 'equal' with {rule}, which gives each client the same weight;"
            f" got {server.weights!r}"
        )
    return found


def _name_rule(server: Server) -> str:
    rule = server.own_rule.path if server.own_rule else server.rule
    return f"server.rule = {rule!r}{' and server.mix' if server.mix else ''}"
