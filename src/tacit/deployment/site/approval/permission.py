"""Whether an owner's policy allows what a plan requires: before rows are read, and again once the
size of the model is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tacit import training
from tacit.deployment.plan_requirements import compute_requirements, count_local_steps
from tacit.errors import PolicyError
from tacit.plan import Plan
from tacit.privacy.policy import (
    Policy,
    PrivacyUnit,
    Requirements,
    find_measures_too_costly,
    find_refusals,
    find_unit_refusals,
)
from tacit.privacy.policy.user_code import allows_code

if TYPE_CHECKING:
    from tacit.deployment.site.site_side import SiteSide

_SOME_SIZE = 100_000


def derive_asked(
    policy: Policy,
    plan: Plan,
    simulated_noise: bool,
    built: SiteSide | None = None,
    *,
    measured: bool = True,
) -> Requirements:
    """What a plan requires of this site, as far as it is known: before rows are read, or with the
    run's side `built`. An epsilon that is not known yet is None.
    """
    allow_code = allows_code(policy, plan)
    prices = policy if measured else None
    asked = compute_requirements(
        plan,
        parameters=built.learner.size if built else None,
        clients=built.terms.clients if built else None,
        policy=prices,
        allow_code=allow_code,
    )
    # Sites run the plan itself and nothing else; how a simulation divides rows says nothing
    # about the cohort.
    cohort = plan.server.cohort_size or (built.terms.clients if built else None)
    return replace(asked, baselines=(), cohort=cohort, simulation_noise=simulated_noise)


def refuse_unless_allowed(
    policy: Policy,
    plan: Plan,
    simulated_noise: bool,
    built: SiteSide | None = None,
    *,
    unit: PrivacyUnit,
    measured: bool = True,
) -> str:
    """Raise PolicyError naming every policy key, and every setting about clients, that a plan
    violates. Return why the limits leave no budget for noisy counts, or an empty string; `measured`
    says that sites are asked to measure models.

    Before rows are read the size of the model may be unknown; a codec whose epsilon depends on it
    is checked once it is known, before anything is trained.
    """
    asked = derive_asked(policy, plan, simulated_noise, built, measured=measured)
    if built is None:
        asked = _ignore_unknown_loss(asked, policy, plan, measured=measured)
    found = [*find_unit_refusals(unit, asked), *find_refusals(policy, asked)]
    if found:
        raise PolicyError("\n".join(found))
    return find_measures_too_costly(policy, asked)


_SIZES = ("limits.max_parameters", "limits.max_local_steps")
"""Limits that numbers alone decide."""


def refuse_too_large(policy: Policy, plan: Plan, inputs: int, classes: int, rows: int) -> None:
    """Raise PolicyError if the model or a client's work exceeds the limits, from numbers alone,
    before anything is allocated.

    `inputs` and `classes` follow from the terms, which come from the server; `rows` are those of
    the largest client here.
    """
    size = training.parameter_floor(plan.model, inputs, classes)
    before = compute_requirements(plan, allow_code=allows_code(policy, plan))
    asked = replace(before, parameters=size, local_steps=count_local_steps(plan, rows))
    found = [sentence for sentence in find_refusals(policy, asked) if sentence.startswith(_SIZES)]
    if found:
        raise PolicyError("\n".join(found))


def _ignore_unknown_loss(
    asked: Requirements, policy: Policy, plan: Plan, *, measured: bool
) -> Requirements:
    """An epsilon that is not known before rows are read counts as none."""
    if asked.epsilon_per_run is not None:
        return asked
    some = compute_requirements(
        plan,
        parameters=_SOME_SIZE,
        policy=policy if measured else None,
        allow_code=allows_code(policy, plan),
    )
    return replace(asked, epsilon_per_update=0.0, epsilon_per_run=0.0, unbounded=some.unbounded)
