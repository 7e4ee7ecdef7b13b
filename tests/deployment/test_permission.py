"""Whether a policy allows a plan: before rows are read, once the size of the model is known, and never by what a server says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.deployment.plan_requirements import compute_requirements
from tacit.deployment.site.approval import permission
from tacit.deployment.site.approval.permission import refuse_too_large, refuse_unless_allowed
from tacit.errors import PolicyError
from tacit.privacy.policy import PrivacyUnit, parse_policy
from tests.deployment.agreements import plan_of

UNIT = PrivacyUnit(client="patient")
POLICY = """
[allow]
models = ["*"]
codecs = ["*"]
disclosures = ["clients", "classes", "ranges", "formats"]
trust_server = true
[columns]
label = ["*"]
numeric = ["*"]
[limits]
max_epsilon_per_run = 3
max_epsilon_lifetime = 30
min_cohort = 100
"""
FIXED = {
    "source": "visits.csv",
    "columns": {"client": "patient", "numeric": ["age"], "label": "outcome"},
}
BITS = {"name": "rr", "epsilon": 0.02, "clip": 0.01}


def allow(policy: str = POLICY, simulated: bool = False, **given: Any) -> str:
    plan = given.pop("plan", None) or plan_of()
    return refuse_unless_allowed(
        parse_policy(policy), plan, simulated, given.pop("built", None), unit=UNIT, **given
    )


def refused(**given: Any) -> list[str]:
    with pytest.raises(PolicyError) as error:
        allow(**given)
    return str(error.value).split("\n")


def built(size: int, clients: int) -> Any:
    return SimpleNamespace(
        learner=SimpleNamespace(size=size), terms=SimpleNamespace(clients=clients)
    )


def test_what_is_allowed() -> None:
    assert allow() == ""
    assert allow(built=built(100, 100)) == ""
    assert (
        allow(
            plan=plan_of(
                server={"rounds": 2, "cohort": "count", "cohort_size": 100},
                data={**FIXED, "clients": 1000},
            )
        )
        == ""
    )


def test_every_line_is_named() -> None:
    found = refused(policy="", simulated=True)
    assert (
        "allow.simulation_noise = false: the noise would come from a seed that others know" in found
    )
    assert (
        "allow.trust_server = false: the plan's guarantee relies on trusting the server, and there is no [secure_aggregation]"
        in found
    )
    with pytest.raises(
        PolicyError,
        match=r"^site.toml: client = 'visit': the plan uses the client column 'patient'",
    ):
        refuse_unless_allowed(
            parse_policy(POLICY), plan_of(), False, unit=PrivacyUnit(client="visit")
        )


def test_the_cohort_is_that_of_the_run_and_not_of_a_simulation() -> None:
    assert allow(plan=plan_of(data={**FIXED, "clients": 5})) == ""
    line = "limits.min_cohort = 100: the plan has a cohort of {} clients"
    assert refused(built=built(100, 99)) == [line.format(99)]
    some = plan_of(
        server={"rounds": 2, "cohort": "count", "cohort_size": 50}, data={**FIXED, "clients": 1000}
    )
    assert refused(plan=some) == [line.format(50)]
    assert refused(plan=some, built=built(100, 1000)) == [line.format(50)]


def test_a_price_that_depends_on_the_model_is_judged_once_its_size_is_known() -> None:
    plan = plan_of(codec=BITS)
    assert allow(plan=plan) == ""
    tight = POLICY.replace("per_run = 3", "per_run = 0.5\nmax_epsilon_per_update = 0.5").replace(
        "life = 30", "life = 0.5"
    )
    assert allow(policy=tight, plan=plan) == "", "nothing is known yet"
    assert allow(plan=plan, built=built(100, 100)) == ""
    found = refused(plan=plan, built=built(100_000, 100))
    assert [line.partition(" = ")[0] for line in found] == [
        "limits.max_epsilon_per_run",
        "limits.max_epsilon_lifetime",
    ]


def test_what_has_no_epsilon_is_refused_before_its_size_is_known() -> None:
    assert refused(plan=plan_of(codec={"name": "plain"})) == [
        "limits.no_epsilon = false: the plan has no epsilon per client and run, or none that is known before data is read"
    ]

    voted = plan_of(codec=BITS, filter={}, data={**FIXED, "local_test": 0.2})
    generous = POLICY.replace("[columns]", "votes = true\n[columns]").replace(
        "[limits]", "[limits]\nmax_test_share = 0.9"
    )
    assert refused(policy=generous, plan=voted) == [
        "limits.no_epsilon = false: the plan has no epsilon per client and run, or none that is known before data is read"
    ]


def test_sites_run_the_plan_itself_and_nothing_beside_it() -> None:
    assert allow(plan=replace(plan_of(), baselines=("fedavg", "central"))) == ""


def test_a_run_is_priced_for_the_clients_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(
        permission,
        "compute_requirements",
        lambda *plan, **facts: given.append(facts) or compute_requirements(*plan, **facts),
    )
    allow(built=built(77, 123))
    allow(built=built(77, 123), measured=False)
    assert [(facts["parameters"], facts["clients"]) for facts in given] == [(77, 123)] * 2
    assert [facts["policy"] is None for facts in given] == [False, True]


def test_measures_are_priced_where_sites_are_asked_to_measure() -> None:
    tight = POLICY.replace("max_epsilon_per_run = 3", "max_epsilon_per_run = 2.01")
    said = allow(policy=tight)
    assert said.startswith(
        "limits.max_epsilon_per_run = 2.01 per client: with noisy counts the run's epsilon would be 2."
    )
    assert allow(policy=tight, built=built(100, 100)).startswith(
        "limits.max_epsilon_per_run = 2.01 per client: with noisy counts"
    )
    assert allow(policy=tight, measured=False) == ""
    assert allow(policy=tight, measured=False, built=built(100, 100)) == ""


def test_a_model_that_is_too_large_is_refused_from_numbers_alone() -> None:
    def judge(
        parameters: int, steps: int, inputs: int = 100, classes: int = 2, rows: int = 640
    ) -> None:
        limits = f"[limits]\nmax_parameters = {parameters}\nmax_local_steps = {steps}\n"
        refuse_too_large(
            parse_policy(limits), plan_of(local={"epochs": 2, "batch": 32}), inputs, classes, rows
        )

    judge(10_000, 10_000)
    judge(100, 40)
    with pytest.raises(PolicyError) as error:
        judge(99, 39)
    assert str(error.value).split("\n") == [
        "limits.max_parameters = 99: the model has at least 100",
        "limits.max_local_steps = 39: a client takes 40 steps in a round",
    ]
    with pytest.raises(
        PolicyError, match=r"^limits.max_parameters = 100: the model has at least 300$"
    ):
        judge(100, 40, classes=3)
