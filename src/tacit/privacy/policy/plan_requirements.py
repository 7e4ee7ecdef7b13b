"""Derive what a plan requires of a data owner from the plan and the claims of its exchanges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from tacit.plan import Columns, Encoder, HashComb, OneBit, Plan, Skellam, hash_schema
from tacit.plan.tables.filter import VOTING_UNITS
from tacit.plan.tables.rows.share import SUPPRESS
from tacit.privacy.ledger.account import is_subsampled
from tacit.privacy.policy.policy import STATISTICS
from tacit.privacy.policy.requirements import Requirements
from tacit.privacy.policy.user_code import find_user_code
from tacit.privacy.site_ledger.spending import MILLION, Claims, PrivacyCost, compute_cost

_KNOWN_NETWORKS = ("pixels", "efficientnet_lite0")
_KNOWN_CHECKPOINTS = ("minilm",)
_LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pl", "pt", "sv")


def derive_requirements(
    plan: Plan,
    plan_hash: str,
    claims: Sequence[Claims] | None,
    *,
    columns: Columns | None = None,
    message_bytes: int | None = None,
    measured: tuple[Claims, int] = ((), 0),
) -> Requirements:
    """Derive requirements from a plan and from a client's claims in a round, one tuple per
    exchange.

    `columns` are the roles in the data; without them the plan's own are used. `claims` is None
    where a client's privacy loss is not known yet, for example because it grows with a model whose
    size depends on the data; the guarantee is then assumed to rest on the server. `measured` are
    the claims of one evaluation and the number of evaluations. What a plan cannot know, such as
    noise from a seed, the caller adds with `dataclasses.replace`.
    """
    roles = columns or plan.data.columns
    whole = None if claims is None else _compute_cost(plan, claims, _count_responses(plan))
    together = (
        None
        if claims is None or not measured[0]
        else _compute_cost(plan, claims, _count_responses(plan), measured)
    )
    return Requirements(
        plan_hash=plan_hash,
        model=STATISTICS if plan.statistics else plan.model.name.partition("@")[0],
        codec=plan.codec.name.partition("@")[0],
        columns=_list_columns(plan, roles),
        epsilon_per_update=(
            None
            if claims is None
            else max((_to_epsilon(_compute_cost(plan, (one,), 1)) for one in claims), default=0.0)
        ),
        epsilon_per_run=None if whole is None else _to_epsilon(whole),
        unbounded=whole is not None and whole.bare,
        measures=measured[1],
        epsilon_with_measures=None if together is None else _to_epsilon(together),
        test_share=1 - (1 - plan.data.test) * (1 - plan.data.local_test),
        delta=plan.delta,
        rounds=plan.server.rounds,
        cohort=plan.server.cohort_size
        or (None if plan.data.partition == "client" else plan.data.clients),
        min_summed=_find_min_summed(plan),
        message_bytes=message_bytes,
        client=roles.client,
        k=plan.data.share.rows_alike if plan.data.share else None,
        released=_list_released_columns(plan, roles),
        key=_list_key_columns(plan, roles),
        generalise={
            name: " ".join(rule.split())
            for name, rule in (plan.data.share.generalise if plan.data.share else {}).items()
        },
        schema=None if plan.schema is None else hash_schema(plan.schema),
        user_code=find_user_code(plan),
        files=tuple(_list_files(plan)),
        disclosures=tuple(_list_cleartext(plan, roles)),
        baselines=tuple(dict.fromkeys(_list_unprotected(plan))),
        votes=plan.filter is not None,
        negotiates=plan.negotiation is not None,
        trusts_server=claims is None or any(_rests_on_server(one) for one in claims),
    )


def _rests_on_server(claims: Claims) -> bool:
    return any(claim.promises and claim.rests_on == "server" for claim in claims)


def _find_min_summed(plan: Plan) -> int | None:
    """Smallest set that helpers add up; None without helpers, and where it depends on the number of
    clients.
    """
    if plan.secure_aggregation is None or (
        isinstance(plan.codec, OneBit | Skellam) and plan.filter is None
    ):
        return None
    return plan.secure_aggregation.min_clients


def _list_columns(plan: Plan, roles: Columns) -> dict[str, tuple[str, ...]] | None:
    """Columns a plan reads, by role; None if the plan leaves them to the data.

    The client column and the quasi-identifiers are checked separately.
    """
    found = {
        role: names if isinstance(names, tuple) else (names,)
        for role, names in asdict(roles).items()
        if names
    }
    if not found:
        return None
    read = {role: names for role, names in found.items() if role not in ("client", "quasi")}
    asked = plan.data.share.k_column if plan.data.share else None
    others = {"by": plan.data.by, "k_column": asked}
    return read | {role: (name,) for role, name in others.items() if name}


def _list_released_columns(plan: Plan, roles: Columns) -> tuple[str, ...]:
    """Columns of released rows, including the label; empty if no row is released."""
    share = plan.data.share
    if share is None:
        return ()
    single = [name for name in (roles.image, roles.label) if name]
    names = dict.fromkeys((*roles.numeric, *roles.categorical, *roles.text, *single, *roles.quasi))
    return tuple(name for name in names if share.generalise.get(name, "").strip() != SUPPRESS)


def _list_key_columns(plan: Plan, roles: Columns) -> tuple[str, ...]:
    """Columns in which equal released rows are counted."""
    share = plan.data.share
    if share is None:
        return ()
    counted = _list_released_columns(plan, roles) if share.release == "whole_row" else roles.quasi
    return tuple(name for name in counted if name != roles.label)


def _count_responses(plan: Plan) -> int:
    return min(plan.server.rounds, plan.ledger.participations or plan.server.rounds)


def _compute_cost(
    plan: Plan, claims: Sequence[Claims], answers: int, measured: tuple[Claims, int] = ((), 0)
) -> PrivacyCost:
    """Privacy loss of `answers` responses to each exchange at the plan's delta, by the function
    that charges a site's ledger.
    """
    each = tuple(
        (
            one,
            plan.server.rounds
            if is_subsampled(one) and answers > 1
            else _count_answers(plan, one, answers),
        )
        for one in claims
        if one
    )
    return compute_cost((*each, measured) if measured[0] else each, plan.delta)


def _count_answers(plan: Plan, claims: Claims, answers: int) -> int:
    """Responses of one exchange among `answers` rounds; last layers and votes leave in voting
    rounds only.
    """
    if plan.filter is None or claims[0].unit not in VOTING_UNITS:
        return answers
    return min(answers, plan.filter.count_votes(plan.server.rounds))


def _to_epsilon(found: PrivacyCost) -> float:
    return found.micro / MILLION


def _list_files(plan: Plan) -> Iterator[str]:
    """Yield the files and folders a plan names besides its data."""
    features = plan.features
    if features.list and features.list not in _LANGUAGES:
        yield features.list
    if features.image not in _KNOWN_NETWORKS:
        yield features.image
    if features.has_encoder and features.encoder not in _KNOWN_CHECKPOINTS:
        yield features.encoder
    if isinstance(plan.model, Encoder) and plan.model.checkpoint not in _KNOWN_CHECKPOINTS:
        yield plan.model.checkpoint
    if isinstance(plan.codec, HashComb) and plan.codec.agreed:
        yield plan.codec.agreed
    for rule in plan.data.share.generalise.values() if plan.data.share else ():
        way, _, rest = rule.strip().partition(" ")
        if way == "csv":
            yield rest.rpartition(" ")[0].strip()


def _list_cleartext(plan: Plan, roles: Columns) -> Iterator[str]:
    """Yield what a plan needs to know about clients in the clear."""
    yield "clients"
    if plan.statistics is not None:
        return
    agreed = plan.agree_values(roles)
    if not agreed.classes:
        yield "classes"
    if plan.server.weights != "equal":
        yield "rows"
    if plan.features.numeric != "raw" and set(roles.numeric) - {
        *plan.features.ranges,
        *agreed.ranges,
    }:
        yield "ranges"
    reads_missing = plan.features.missing is None and set(roles.numeric) - set(agreed.may_miss)
    if reads_missing or (roles.numeric and plan.data.decimal is None):
        yield "formats"
    if set(roles.categorical) - set(agreed.categories):
        yield "categories"
    if plan.features.text in ("words", "pieces") and plan.private.words != "all":
        yield "words"
    if plan.data.share is not None and plan.data.share.counts == "global":
        yield "class_counts"


def _list_unprotected(plan: Plan) -> Iterator[str]:
    if plan.regime == "central":
        yield "central"
    yield from (name for name in plan.baselines if name != "local_only")
