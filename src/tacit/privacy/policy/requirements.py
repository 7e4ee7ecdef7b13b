"""What a plan requires of a data owner, and every way in which it violates a policy. No data is
needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from tacit.extensions import Reference
from tacit.privacy.policy.policy import ANY, Policy, SharePolicy
from tacit.privacy.policy.user_code import refuse_user_code
from tacit.privacy.site_ledger.spending import format_limit, format_micro, get_limit, to_micro
from tacit.runs.record import DisclosedRows

NO_POLICY = "there is no policy, so nothing is allowed; write one with `tacit site policy init`"
INPUT_ROLES = ("label", "text", "numeric", "categorical", "image")
"""Roles of columns that a model reads."""


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """What a plan requires, as far as it is known before data is read. Fields without a default are
    always known.

    `columns` are those a plan reads, by role; None where the plan leaves them to the data.
    `epsilon_per_update` and `epsilon_per_run` are per client at `delta` and cover every response
    that has an epsilon; None means not known before data is read. `unbounded` says that something
    is also sent for which no epsilon per client exists. `measures` is how often a model is
    evaluated on held-out rows, and `epsilon_with_measures` the epsilon of a run with noisy counts;
    `test_share` is the share of rows held out. `parameters` and `local_steps` are lower bounds
    until rows are read. `k` is that of released rows, None if none are released; `released` are the
    columns of these rows, `key` those in which equal rows are counted, and `generalise` the
    generalisation rule of each column. `schema` is the hash of the plan's schema, None without one.
    """

    plan_hash: str
    model: str
    codec: str
    columns: dict[str, tuple[str, ...]] | None
    epsilon_per_update: float | None
    epsilon_per_run: float | None
    delta: float
    rounds: int
    unbounded: bool = False
    measures: int = 0
    epsilon_with_measures: float | None = None
    test_share: float = 0.0
    cohort: int | None = None
    min_summed: int | None = None
    message_bytes: int | None = None
    parameters: int | None = None
    local_steps: int | None = None
    client: str | None = None
    k: int | None = None
    released: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    generalise: dict[str, str] = field(default_factory=dict)
    schema: str | None = None
    user_code: tuple[Reference, ...] = ()
    files: tuple[str, ...] = ()
    disclosures: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    votes: bool = False
    negotiates: bool = False
    trusts_server: bool = False
    simulation_noise: bool = False


def find_refusals(policy: Policy | None, asked: Requirements) -> list[str]:
    """List each way in which requirements violate a policy, one sentence each; empty if all is
    allowed.
    """
    if policy is None:
        return [NO_POLICY]
    checks = (
        _refuse_plan_hash,
        _refuse_parts,
        _refuse_columns,
        _refuse_schema,
        _refuse_switches,
        _refuse_limits,
        _refuse_measures,
        _refuse_disclosure,
    )
    return [sentence for check in checks for sentence in check(policy, asked)]


def _refuse_plan_hash(policy: Policy, asked: Requirements) -> list[str]:
    hashes = policy.plans.hashes
    if hashes is None or asked.plan_hash in hashes:
        return []
    return [
        f"plans.hashes: the plan {asked.plan_hash or 'without a hash'} is not among"
        " those that may run here"
    ]


def _refuse_parts(policy: Policy, asked: Requirements) -> list[str]:
    """Name parts of a plan that are in no list of the policy."""
    allow = policy.allow
    wanted: dict[str, tuple[Iterable[str], tuple[str, ...], str]] = {
        "models": ((asked.model,), allow.models, "the plan trains {}"),
        "codecs": ((asked.codec,), allow.codecs, "the plan sends updates with codec {}"),
        "files": (asked.files, allow.files, "the plan reads {} on this machine"),
        "disclosures": (
            asked.disclosures,
            allow.disclosures,
            "the plan needs {} in the clear",
        ),
        "baselines": (asked.baselines, allow.baselines, "the plan runs {}, which protects nothing"),
    }
    return [
        f"allow.{key} = {list(allowed)}: {words.format(repr(name))}"
        for key, (names, allowed, words) in wanted.items()
        for name in dict.fromkeys(names)
        if name not in allowed and ANY not in allowed
    ]


def _refuse_columns(policy: Policy, asked: Requirements) -> list[str]:
    """Name columns that a plan uses in a role that is not allowed."""
    roles = {one.name: getattr(policy.columns, one.name) for one in fields(policy.columns)}
    if asked.columns is None:
        closed = [role for role in INPUT_ROLES if ANY not in roles[role]][:1]
        return [
            f"columns.{role} = {list(roles[role])}: the plan names no columns and would choose"
            " them from the data"
            for role in closed
        ]
    anywhere = tuple(name for allowed in roles.values() for name in allowed)
    return [
        (
            f"columns.{role} = {list(roles[role])}: the plan uses the column {name!r} as {role}"
            if role in roles
            else (f"columns: the plan divides rows by the column {name!r}, which is in no list")
        )
        for role, names in asked.columns.items()
        for name in names
        if not {name, ANY} & set(roles.get(role, anywhere))
    ]


def _refuse_schema(policy: Policy, asked: Requirements) -> list[str]:
    """Name a schema that the owner has not accepted: refusals and counts of rows under schemas that
    a server tries would reveal values of single people.
    """
    allowed = policy.allow.schemas
    if asked.schema is None or asked.schema in allowed or ANY in allowed:
        return []
    return [
        f"allow.schemas: the plan has the schema {asked.schema}, which is not among those that may"
        " be applied to the rows; read [schema] of the plan, see `tacit site check`, and add it"
    ]


def _refuse_switches(policy: Policy, asked: Requirements) -> list[str]:
    wanted = {
        "votes": (asked.votes, "the plan has clients vote on each other's updates"),
        "negotiation": (
            asked.negotiates,
            "the sites agree on a secret, and perhaps on a range, that each of them then knows",
        ),
        "trust_server": (
            asked.trusts_server,
            "the plan's guarantee relies on trusting the server, and there is no [secure_aggregation]",
        ),
        "simulation_noise": (
            asked.simulation_noise,
            "the noise would come from a seed that others know",
        ),
    }
    return [
        *refuse_user_code(policy, asked.user_code),
        *(
            f"allow.{key} = false: {words}"
            for key, (wants, words) in wanted.items()
            if wants and not getattr(policy.allow, key)
        ),
    ]


def _refuse_limits(policy: Policy, asked: Requirements) -> list[str]:
    limits, found = policy.limits, list[str]()
    if (asked.unbounded or asked.epsilon_per_run is None) and not limits.no_epsilon:
        found.append(
            "limits.no_epsilon = false: the plan has no epsilon per client and run, or none that is"
            " known before data is read"
        )
    for key, epsilon, words in (
        (
            "max_epsilon_per_update",
            asked.epsilon_per_update,
            "the plan asks for {} per client and update",
        ),
        ("max_epsilon_per_run", asked.epsilon_per_run, "the plan asks for {} per client and run"),
        ("max_epsilon_lifetime", asked.epsilon_per_run, "this plan alone asks for {} per client"),
    ):
        if epsilon is not None and to_micro(epsilon) > get_limit(limits, key):
            found.append(
                f"{format_limit(limits, key)}: {words.format(format_micro(to_micro(epsilon)))}"
            )
    if asked.delta > limits.delta * (1 + 1e-9):
        found.append(f"limits.delta = {limits.delta:g} per run: the plan asks for {asked.delta:g}")
    if asked.rounds > limits.max_rounds_per_run:
        found.append(
            f"limits.max_rounds_per_run = {limits.max_rounds_per_run:,}: the plan has"
            f" {asked.rounds:,}"
            " rounds"
        )
    if asked.cohort is not None and asked.cohort < limits.min_cohort:
        found.append(
            f"limits.min_cohort = {limits.min_cohort:,}: the plan has a cohort of"
            f" {asked.cohort:,} clients"
        )
    if asked.min_summed is not None and asked.min_summed < limits.min_cohort:
        found.append(
            f"limits.min_cohort = {limits.min_cohort:,}: the plan's secure aggregation adds up as few"
            f" as {asked.min_summed:,} clients; ask for a plan with a larger"
            " secure_aggregation.min_clients"
        )
    if asked.message_bytes is not None and asked.message_bytes > limits.max_message_bytes:
        found.append(
            f"limits.max_message_bytes = {limits.max_message_bytes:,}: a message of this"
            f" plan has {asked.message_bytes:,}"
        )
    if asked.parameters is not None and asked.parameters > limits.max_parameters:
        found.append(
            f"limits.max_parameters = {limits.max_parameters:,}: the model has at least"
            f" {asked.parameters:,}"
        )
    if asked.local_steps is not None and asked.local_steps > limits.max_local_steps:
        found.append(
            f"limits.max_local_steps = {limits.max_local_steps:,}: a client takes"
            f" {asked.local_steps:,} steps in a round"
        )
    return found


def find_measures_too_costly(policy: Policy, asked: Requirements) -> str:
    """Say why noisy counts are not sent in a run, naming the limit they would exceed; empty if they
    are sent.

    A plan is not refused for its evaluation: the counts are left out, so that they use no budget of
    the training.
    """
    epsilon, limits = asked.epsilon_with_measures, policy.limits
    if policy.measures.counts != "noisy" or not asked.measures or epsilon is None:
        return ""
    for key in ("max_epsilon_per_run", "max_epsilon_lifetime"):
        if to_micro(epsilon) > get_limit(limits, key):
            return (
                f"{format_limit(limits, key)}: with noisy counts the run's epsilon"
                f" would be {format_micro(to_micro(epsilon))}, so no counts are sent"
            )
    return ""


def _refuse_measures(policy: Policy, asked: Requirements) -> list[str]:
    found, disclosed = list[str](), policy.allow.disclosures
    if asked.test_share > policy.limits.max_test_share * (1 + 1e-9):
        found.append(
            f"limits.max_test_share = {policy.limits.max_test_share:g}: the plan holds out"
            f" {asked.test_share:.3g} of the rows"
        )
    if asked.measures and policy.measures.counts == "exact" and "measures" not in disclosed:
        found.append(
            f'allow.disclosures = {list(disclosed)}: measures.counts = "exact" sends counts in the'
            ' clear; add "measures" to allow.disclosures, or set measures.counts = "noisy"'
        )
    return found


def _refuse_disclosure(policy: Policy, asked: Requirements) -> list[str]:
    if asked.k is None:
        return []
    if policy.share is None:
        return [
            "share: the policy has no [share] table, so no row may be released; the plan would"
            " release rows ([data.share])"
        ]
    found = []
    if asked.k < policy.share.min_k:
        found.append(f"share.min_k = {policy.share.min_k:,}: the plan asks for k = {asked.k:,}")
    return [
        *found,
        *_refuse_released_columns(policy.share, asked.released),
        *_refuse_generalisation(policy.share, asked),
    ]


def _describe_rule(rule: str) -> str:
    return f"as {rule!r}" if rule else "without generalisation"


def _refuse_generalisation(share: SharePolicy, asked: Requirements) -> list[str]:
    """Name columns that would be released with a rule other than the owner's."""
    found = []
    for name in asked.released:
        rule, known = (
            asked.generalise.get(name, ""),
            share.generalise.get(name, share.generalise.get(ANY, ("",))),
        )
        if rule not in known and ANY not in known:
            owners, plans = " or ".join(map(_describe_rule, known)), _describe_rule(rule)
            found.append(
                f"share.generalise: the policy releases the column {name!r} {owners}, and the plan"
                f" would release it {plans}; the owner sets the rule, since refusals of rules that a"
                " server tries out would reveal values"
            )
    return found


def _refuse_released_columns(share: SharePolicy, columns: Iterable[str]) -> list[str]:
    return [
        f"share.columns = {list(share.columns)}: the plan would release the column {name!r}"
        for name in columns
        if not {name, ANY} & set(share.columns)
    ]


def refuse_rows(policy: Policy, shared: DisclosedRows) -> list[str]:
    """List each way in which rows to be released violate the policy, one sentence each.

    Groups are judged by the rows that would actually be released, not by the plan's k: noise, and
    counts that include rows of others, can let smaller groups through. Earlier releases are checked
    by the ledger (`SiteLedger.disclose`).
    """
    limits, found = policy.share, list[str]()
    if not shared.rows:
        return []
    if limits is None:
        return ["share: the policy has no [share] table, so no row may be released"]
    if shared.smallest_class < limits.min_k:
        found.append(
            f"share.min_k = {limits.min_k:,}: the smallest group that would be"
            f" released has {shared.smallest_class:,} rows"
        )
    if limits.min_l > 1 and shared.single_label_share:
        found.append(
            f"share.min_l = {limits.min_l:,}: {shared.single_label_share:.4f} of these rows are in"
            " groups with a single label"
        )
    share = shared.rows / shared.of_rows
    if share > limits.max_share:
        found.append(
            f"share.max_share = {limits.max_share:g}: {share:.4f} of the rows would be released"
        )
    return found + _refuse_released_columns(limits, shared.columns)
