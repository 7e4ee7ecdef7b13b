"""A policy to start from, as commented TOML for a data owner who will change it."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.ledger.owner.asked import Asked
from tacit.plan.starter import quoted

_TEXT = """\
# What may happen to the rows on this machine. What this file does not say is not allowed; without it nothing is.
# `tacit policy check {file} plan.toml` says what it would refuse. Every key is explained in docs/policy.md.
{hashes}
[allow]
models = [{models}]
codecs = [{codecs}]
columns = [{columns}]{fill_in}
tells = [{tells}]        # told in the clear; also: "rows" (how many), "ranges", "medians", "categories", "words", "measures"
files = [{files}]        # files a plan may name besides the data
baselines = [{baselines}]    # "central", "fedavg": without protection, for simulations
user_code = {user_code}      # a plan may name a Python class, whose code then runs here
votes = {votes}
trust_server = {trust_server}   # a promise may rest on the server adding noise; not needed under a [secure_sum]
simulation_noise = false

[limits]                # epsilon is per client: a person, a device, a patient
{update}epsilon_per_run = {run}
epsilon_for_life = {life}
delta = {delta}            # per run; deltas of runs add up
no_epsilon = {no_epsilon}      # answers may leave for which no epsilon exists, such as those of "plain"
rounds_per_run = {rounds}
rounds_per_day = {day}
least_cohort = {cohort}       # the server says how many clients a round has, and may lie: nothing rests on this
largest_message_bytes = {message}
{share}"""

_NO_SHARE = """
# [share]               # without this table no row leaves
# min_k = 50            # rows that leave look like at least so many
# max_share = 0.5
# forbidden_columns = ["name"]
"""

CODECS = ("projunit", "rr_sampled", "gaussian", "dp_sum", "onebit", "skellam")
"""Codecs that state an epsilon per update or run."""


def policy_text(file: str, asked: Asked | None = None) -> str:
    """Return a careful policy; with what a plan asks, one that allows this plan and no other."""
    return _general(file) if asked is None else _for(file, asked)


def _general(file: str) -> str:
    return _TEXT.format(
        file=file, hashes="", models=_list(["logistic", "mlp"]), codecs=_list(CODECS), columns="",
        fill_in="            # columns a plan may read; until you name some, every plan is refused",
        tells=_list(["clients", "classes"]), files="", baselines="", user_code="false", votes="false", trust_server="false",
        update="epsilon_per_update = 1.0\n", run="2.0", life="10.0", delta="1e-5", no_epsilon="false", rounds=50, day=50,
        cohort=100, message=50_000_000, share=_NO_SHARE,
    )  # fmt: skip


def _for(file: str, asked: Asked) -> str:
    epsilon = asked.epsilon_per_run
    hashes = f"\n[plans]\nhashes = [{_list([asked.plan_hash])}]\n"
    return _TEXT.format(
        file=file, hashes=hashes, models=_list([asked.model]), codecs=_list([asked.codec]),
        columns=_list(asked.columns or ["*"]), fill_in="" if asked.columns else "           # the plan names none: all columns",
        tells=_list(asked.tells), files=_list(asked.files), baselines=_list(asked.baselines), user_code=_word(asked.user_code),
        votes=_word(asked.votes), trust_server=_word(asked.trusts_server), update="",
        run=_number(epsilon), life=_number(epsilon), delta=f"{asked.delta:g}", no_epsilon=_word(epsilon is None),
        rounds=asked.rounds, day=asked.rounds, cohort=min(asked.cohort or 100, 100), message=50_000_000,
        share=f"\n[share]                 # the plan hands over rows\nmin_k = {asked.k}\n" if asked.k else _NO_SHARE,
    )  # fmt: skip


def _list(names: Iterable[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def _word(value: bool) -> str:
    return "true" if value else "false"


def _number(epsilon: float | None) -> str:
    return repr(epsilon) if epsilon else "1.0"
