"""A starting policy, as commented TOML for a data owner to edit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from tacit.plan.presets.starter import quoted
from tacit.privacy.policy.giveaways import MARK, find_giveaways
from tacit.privacy.policy.policy import (
    STATISTICS,
    Allow,
    ColumnRoles,
    Limits,
    Measures,
    Policy,
    SharePolicy,
)
from tacit.privacy.policy.requirements import INPUT_ROLES, Requirements

_Table = Allow | ColumnRoles | Limits | Measures | SharePolicy
_HEAD = """\
# What may happen to the rows on this machine. Everything that is not listed here is forbidden;
# without this file, everything is. `tacit site policy check {file} plan.toml` lists what it would
# refuse in a plan, and prints the plan's hash.

# approve = "ask"               # ask me about each run that these rules allow (`tacit site requests`)
"""
_NO_SHARE = """
# [share]                       # without this table no row is released
# columns = ["age", "outcome"]  # columns that may be released; quasi-identifiers are in site.toml
# exact = []                    # of these, columns released even if only one person has a value
# generalise = {age = ["ranges 10"]}  # how coarsely a column is released; without a rule, exactly
# min_k = 50                    # clients that share all values in all rows ever released
# min_l = 2                     # different labels among them
# max_share = 0.5               # of all rows, in all runs together
"""
_NOTES = {
    "files": "files that a plan may name besides the data",
    "disclosures": (
        'sent in the clear; also "rows" (how many), "exact_ranges", "words", "measures" (exact'
        ' counts), "class_counts" (rows alike over all sites)'
    ),
    "baselines": (
        '"central", "fedavg", "noiseless", "same_features": without protection, for simulations'
    ),
    "schemas": "schemas that may say which values fit; `tacit site check DIR PLAN` prints the hash",
    "user_code": "Python code that a plan may name and that then runs here",
    "votes": "clients may vote on each other's updates",
    "negotiation": "sites may agree on a secret and a range that only they know ([negotiation])",
    "trust_server": (
        "the server may see individual updates; not needed if the plan has [secure_aggregation]"
    ),
    "label": "columns that a plan may predict; names of classes are sent in the clear",
    "text": "columns that a plan may read as text",
    "numeric": "columns that a plan may read as numbers; rounded ends are sent in the clear",
    "categorical": "columns that a plan may read as categories; their names are sent in the clear",
    "image": "columns that a plan may read as images",
    "split": "columns that may separate training rows from test rows",
    "simulation_noise": "noise may come from a seed that others know",
    "max_epsilon_per_update": "per client: a person, a device, a patient",
    "max_epsilon_per_run": "per client, all rounds of a run together",
    "max_epsilon_lifetime": "per client, all runs together",
    "delta": "per run; deltas of runs add up",
    "no_epsilon": 'responses may be sent for which no epsilon exists, such as those of "plain"',
    "max_test_share": "share of the rows that may be held out; a held-out row is never trained on",
    "counts": (
        'on held-out rows: "noisy" counts that clients are charged for, "exact" ones, or "off"'
    ),
    "epsilon": "per client and run, all evaluations together; counts against the limits",
    "rows_per_client": "held-out rows of a client that are counted",
    "min_rows": "no counts are sent for fewer rows",
    "min_clients": "nor for rows of fewer clients",
    "max_parameters": "of the model",
    "max_local_steps": "of one client in one round",
    "max_minutes_per_round": "longest training on this machine for one request",
    "min_cohort": (
        "clients in a round; the server may lie, unless helpers of [secure_aggregation] count"
    ),
    "generalise": "how coarsely a column is released",
    "min_noise_share": (
        "that this site's own clients must add where all clients add the noise together"
    ),
    "min_clients_per_value": (
        "classes, categories and ends of ranges are sent if at least this many clients have them"
    ),
    "max_values_per_column": "most classes, or categories of one column, that are sent",
}
_STATED = ("projunit", "rr_sampled", "gaussian", "dp_sum", "onebit", "skellam")
"""Codecs that state an epsilon per update or run."""
_CAREFUL = Policy(
    allow=Allow(
        models=("logistic", "mlp", STATISTICS),
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
    """Render a careful policy; with `asked`, one that allows exactly that plan."""
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
    """Build the policy that allows these requirements at their epsilon, and little else."""
    epsilon = asked.epsilon_with_measures or asked.epsilon_per_run or None
    fewest = min(asked.cohort or 100, asked.min_summed or 100, 100)
    return Policy(
        allow=Allow(
            models=(asked.model,),
            codecs=(asked.codec,),
            files=asked.files,
            disclosures=asked.disclosures,  # type: ignore[arg-type]
            baselines=asked.baselines,  # type: ignore[arg-type]
            schemas=(asked.schema,) if asked.schema else (),
            user_code=asked.user_code,
            votes=asked.votes,
            negotiation=asked.negotiates,
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
    """Build a [share] table that allows the rows a plan would release, as coarse as it says."""
    rules: dict[str, tuple[str, ...]] = {
        name: (asked.generalise[name],) for name in asked.released if name in asked.generalise
    }
    return SharePolicy(columns=asked.released or ("*",), generalise=rules, min_k=asked.k or 1)


def _build_roles(asked: Requirements) -> ColumnRoles:
    """Columns that a plan uses, by role; all columns where the plan leaves that to the data."""
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
