"""A policy to start from, as commented TOML for a data owner who will change it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from tacit.plan.presets.starter import quoted
from tacit.privacy.policy.asked import INPUT_ROLES, Requirements
from tacit.privacy.policy.giveaways import MARK, find_giveaways
from tacit.privacy.policy.policy import Allow, ColumnRoles, Limits, Measures, Policy, SharePolicy

_Table = Allow | ColumnRoles | Limits | Measures | SharePolicy
_HEAD = """\
# What may happen to the rows on this machine. What this file does not say is not allowed; without
# it nothing is. `tacit policy check {file} plan.toml` says what it would refuse in a plan, and
# prints the plan's hash.
"""
_NO_SHARE = """
# [share]                       # without this table no row leaves
# columns = ["age", "outcome"]  # columns that may leave; quasi-identifiers are in site.toml
# exact = []                    # of these, columns that leave even where one person alone has a
# value generalise = {age = ["ranges 10"]}  # how coarse a column leaves; without a rule it leaves
# as it is min_k = 50                    # clients that cannot be told apart by all rows that ever
# left min_l = 2                     # different labels among them max_share = 0.5               #
# of all rows, in all runs together
"""
_NOTES = {
    "files": "files a plan may name besides the data",
    "disclosures": (
        'told in the clear; also "rows" (how many), "exact_ranges", "words", "measures" (exact'
        " counts)"
    ),
    "baselines": (
        '"central", "fedavg", "noiseless", "same_features": without protection, for simulations'
    ),
    "user_code": "Python code that a plan may name and that then runs here",
    "votes": "clients may vote on each other",
    "trust_server": (
        "the server may see single updates; not needed if the plan has [secure_aggregation]"
    ),
    "label": "columns a plan may predict; names of classes are told",
    "text": "columns a plan may read as text",
    "numeric": "columns a plan may read as numbers; rounded ends are told",
    "categorical": "columns a plan may read as categories, whose names are told",
    "image": "columns a plan may read as pictures",
    "split": "columns that may say which rows are for training",
    "simulation_noise": "noise may come from a seed that others know",
    "max_epsilon_per_update": "per client: a person, a device, a patient",
    "max_epsilon_per_run": "per client, all rounds of a run together",
    "max_epsilon_lifetime": "per client, all runs together",
    "delta": "per run; deltas of runs add up",
    "no_epsilon": 'answers may leave for which no epsilon exists, such as those of "plain"',
    "max_test_share": "of the rows may be held out; such a row is never trained on",
    "counts": (
        'on held-out rows: "noisy" counts that clients are charged for, "exact" ones, or "off"'
    ),
    "epsilon": "per client and run, all measures together; counts against the limits",
    "rows_per_client": "held-out rows of a client that count",
    "min_rows": "no counts of fewer rows",
    "min_clients": "nor of rows of fewer clients",
    "max_parameters": "of the model",
    "max_local_steps": "of one client in one round",
    "max_minutes_per_round": "this machine trains no longer for one request",
    "min_cohort": (
        "clients in a round; the server may lie, unless helpers of [secure_aggregation] count"
    ),
    "generalise": "how coarse a column leaves",
    "min_noise_share": (
        "that this site's own clients make where all clients make the noise together"
    ),
    "min_clients_per_value": (
        "classes, categories and ends of ranges are told if so many clients have them"
    ),
    "max_values_per_column": "classes, or categories of one column, that are told at most",
}
_STATED = ("projunit", "rr_sampled", "gaussian", "dp_sum", "onebit", "skellam")
"""Codecs that state an epsilon per update or run."""
_CAREFUL = Policy(
    allow=Allow(
        models=("logistic", "mlp"),
        codecs=_STATED,
        disclosures=("clients", "classes", "ranges", "formats", "categories", "measures"),
    ),
    limits=Limits(
        max_epsilon_per_update=1.0,
        max_epsilon_per_run=8.0,
        max_epsilon_lifetime=16.0,
        max_rounds_per_run=250,
        max_rounds_per_day=250,
        min_cohort=100,
        max_message_bytes=50_000_000,
    ),
)


def render_policy(file: str, asked: Requirements | None = None) -> str:
    """Return a careful policy; with what a plan asks, one that allows this plan and no other."""
    policy = _CAREFUL if asked is None else build_policy(asked)
    hashes = () if asked is None else ("", "[plans]", f"hashes = [{quoted(asked.plan_hash)}]")
    tables: dict[str, _Table | None] = {
        "allow": policy.allow,
        "columns": policy.columns,
        "limits": policy.limits,
        "measures": policy.measures,
        "share": policy.share,
    }
    given = find_giveaways(policy)
    lines = [
        line
        for name, table in tables.items()
        if table
        for line in ("", f"[{name}]", *_render_table(name, table, given))
    ]
    share = _NO_SHARE if policy.share is None else ""
    return _HEAD.format(file=" ".join(file.split())) + "\n".join([*hashes, *lines]) + "\n" + share


def build_policy(asked: Requirements) -> Policy:
    """Return the policy that allows what is asked, at its price, and little else."""
    epsilon = asked.epsilon_with_measures or asked.epsilon_per_run or None
    fewest = min(asked.cohort or 100, asked.min_summed or 100, 100)
    return Policy(
        allow=Allow(
            models=(asked.model,),
            codecs=(asked.codec,),
            files=asked.files,
            disclosures=asked.disclosures,  # type: ignore[arg-type]
            baselines=asked.baselines,  # type: ignore[arg-type]
            user_code=asked.user_code,
            votes=asked.votes,
            trust_server=asked.trusts_server,
            simulation_noise=asked.simulation_noise,
        ),
        columns=_build_roles(asked),
        limits=Limits(
            max_epsilon_per_run=epsilon,
            max_epsilon_lifetime=epsilon,
            delta=asked.delta,
            no_epsilon=asked.unbounded or asked.epsilon_per_run is None,
            max_rounds_per_run=asked.rounds,
            max_rounds_per_day=asked.rounds,
            min_cohort=fewest,
            max_message_bytes=50_000_000,
            max_test_share=max(Limits.max_test_share, asked.test_share),
        ),
        share=_build_share(asked) if asked.k else None,
    )


def _build_share(asked: Requirements) -> SharePolicy:
    """Return a table under which the rows leave that a plan asks for, as coarse as it says."""
    rules: dict[str, tuple[str, ...]] = {
        name: (asked.generalise[name],) for name in asked.released if name in asked.generalise
    }
    return SharePolicy(columns=asked.released or ("*",), generalise=rules, min_k=asked.k or 1)


def _build_roles(asked: Requirements) -> ColumnRoles:
    """Return the columns a plan uses, each as what it uses it; all of them where the plan leaves
    that to the data.
    """
    if asked.columns is None:
        return ColumnRoles(**dict.fromkeys(INPUT_ROLES, ("*",)))
    return ColumnRoles(**{role: names for role, names in asked.columns.items() if role != "by"})


def _render_table(name: str, table: _Table, given: dict[str, str]) -> Iterable[str]:
    values = {field.name: getattr(table, field.name) for field in fields(table)}
    notes = _NOTES | {
        key: f"{MARK}{given[f'{name}.{key}']}" for key in values if f"{name}.{key}" in given
    }
    return [
        _render_line(key, value, notes.get(key))
        for key, value in values.items()
        if value is not None
    ]


def _render_line(key: str, value: object, note: str | None) -> str:
    setting = f"{key} = {_render_value(value)}"
    return f"{setting:<31} # {note}" if note else setting


def _render_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(quoted(str(one)) for one in value)}]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{quoted(name)} = {_render_value(one)}' for name, one in value.items())}}}"
    return f"{value:_}" if isinstance(value, int) else repr(value)
