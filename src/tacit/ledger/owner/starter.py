"""A policy to start from, as commented TOML for a data owner who will change it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from tacit.ledger.owner.asked import Asked
from tacit.ledger.owner.policy import Allow, Limits, Policy, SharePolicy
from tacit.plan.starter import quoted

_HEAD = """\
# What may happen to the rows on this machine. What this file does not say is not allowed; without it nothing is.
# `tacit policy check {file} plan.toml` says what it would refuse in a plan, and prints the plan's hash.
"""
_NO_SHARE = """
# [share]                       # without this table no row leaves
# min_k = 50                    # rows that leave look like at least so many
# max_share = 0.5               # of all rows
# forbidden_columns = ["name"]
"""
_NOTES = {
    "columns": "columns a plan may read, whatever for",
    "files": "files a plan may name besides the data",
    "tells": 'told in the clear; also "rows" (how many), "ranges", "medians", "categories", "words", "measures"',
    "baselines": '"central", "fedavg": without protection, for simulations',
    "user_code": "a plan may name a Python class, whose code then runs here",
    "votes": "clients may vote on each other",
    "trust_server": "a promise may rest on the server; not needed under a [secure_sum]",
    "simulation_noise": "noise may come from a seed that others know",
    "epsilon_per_update": "per client: a person, a device, a patient",
    "epsilon_per_run": "per client, all rounds of a run together",
    "epsilon_for_life": "per client, all runs together",
    "delta": "per run; deltas of runs add up",
    "no_epsilon": 'answers may leave for which no epsilon exists, such as those of "plain"',
    "max_parameters": "of the model",
    "max_local_steps": "of one client in one round",
    "max_minutes_per_round": "this machine trains no longer for one request",
    "least_cohort": "clients in a round; the server says how many, and may lie: nothing rests on this",
}
_STATED = ("projunit", "rr_sampled", "gaussian", "dp_sum", "onebit", "skellam")
"""Codecs that state an epsilon per update or run."""
_CAREFUL = Policy(
    allow=Allow(models=("logistic", "mlp"), codecs=_STATED, tells=("clients", "classes")),
    limits=Limits(
        epsilon_per_update=1.0, epsilon_per_run=2.0, epsilon_for_life=10.0, rounds_per_run=50, rounds_per_day=50, least_cohort=100,
        largest_message_bytes=50_000_000,
    ),
)  # fmt: skip


def policy_text(file: str, asked: Asked | None = None) -> str:
    """Return a careful policy; with what a plan asks, one that allows this plan and no other."""
    policy = _CAREFUL if asked is None else policy_for(asked)
    hashes = () if asked is None else ("", "[plans]", f"hashes = [{quoted(asked.plan_hash)}]")
    share = _NO_SHARE if policy.share is None else f"\n[share]\n{_line('min_k', policy.share.min_k)}\n"
    lines = [*hashes, "", "[allow]", *_lines(policy.allow), "", "[limits]", *_lines(policy.limits)]
    return _HEAD.format(file=" ".join(file.split())) + "\n".join(lines) + "\n" + share


def policy_for(asked: Asked) -> Policy:
    """Return the policy that allows what is asked, at its price, and little else."""
    epsilon = asked.epsilon_per_run or None
    return Policy(
        allow=Allow(
            models=(asked.model,), codecs=(asked.codec,), columns=asked.columns or ("*",), files=asked.files,
            tells=asked.tells, baselines=asked.baselines, user_code=asked.user_code, votes=asked.votes,  # type: ignore[arg-type]
            trust_server=asked.trusts_server, simulation_noise=asked.simulation_noise,
        ),
        limits=Limits(
            epsilon_per_run=epsilon, epsilon_for_life=epsilon, delta=asked.delta,
            no_epsilon=asked.unbounded or asked.epsilon_per_run is None,
            rounds_per_run=asked.rounds, rounds_per_day=asked.rounds, least_cohort=min(asked.cohort or 100, 100),
            largest_message_bytes=50_000_000,
        ),
        share=SharePolicy(min_k=asked.k) if asked.k else None,
    )  # fmt: skip


def _lines(table: Allow | Limits) -> Iterable[str]:
    values = {field.name: getattr(table, field.name) for field in fields(table)}
    return [_line(key, value) for key, value in values.items() if value is not None]


def _line(key: str, value: object) -> str:
    setting = f"{key} = {_toml(value)}"
    return f"{setting:<31} # {_NOTES[key]}" if key in _NOTES else setting


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(quoted(str(one)) for one in value)}]"
    return f"{value:_}" if isinstance(value, int) else repr(value)
