"""A plan as it is offered to sites: what only a simulation can do is left out or refused, and
columns are written out.
"""

from __future__ import annotations

from dataclasses import replace

from tacit import data
from tacit.errors import PlanError
from tacit.plan import GIVEN, Audit, Engine, HashComb, Plan


def prepare_for_sites(plan: Plan, simulated_noise: bool = False) -> Plan:
    """Return the plan that sites are offered. Each site reads rows of its own, so `data.source`
    names none.

    With `simulated_noise` all sites have the plan's seed in common, and with it every secret.

    Raises PlanError that names everything a network of sites cannot do.
    """
    plan = remove_simulation_settings(plan)
    refuse_undeployable(plan, simulated_noise)
    return plan


def refuse_undeployable(plan: Plan, simulated_noise: bool) -> None:
    """Raise PlanError that names everything in a plan which a network of sites cannot do. Sites
    believe no server, and look too.
    """
    found = _problems(plan)
    if isinstance(plan.codec, HashComb) and plan.codec.agreed is None and not simulated_noise:
        found.append(
            "codec.agreed: needs a secret that sites negotiated (`tacit negotiate`); got nothing"
        )
    if plan.data.columns.label is None:
        found.append(
            "data.columns.label: needs the column to predict, since sites read files of their own;"
            " got nothing"
        )
    if found:
        raise PlanError(
            "\n".join(
                [
                    f"plan {plan.name!r} cannot run between sites",
                    *(f"  {problem}" for problem in found),
                ]
            )
        )


def remove_simulation_settings(plan: Plan) -> Plan:
    """Return the plan without what has no meaning at a site: where a simulation finds rows, how it
    divides them, its baselines.

    A plan's hash in an owner's policy is that of this plan, whichever of its forms the owner was
    shown.
    """
    settings = replace(
        plan.data,
        source=GIVEN,
        columns=data.resolve_columns(plan.data),
        partition="iid",
        by=None,
        limit=None,
        validation=0.0,
    )
    return replace(plan, data=settings, baselines=(), engine=Engine())


def _problems(plan: Plan) -> list[str]:
    """Return a sentence for each setting that has a meaning in a simulation only."""
    share, obstacles = plan.data.share, dict[str, bool]()
    obstacles["corrupt: makes clients misbehave in a simulation; remove the table"] = (
        plan.corrupt is not None
    )
    obstacles["audit.canaries: are made-up clients of a simulation; remove the key"] = (
        plan.audit != Audit()
    )
    obstacles["data.deal = 'every_round': no real client's rows change hands; use 'once'"] = (
        plan.data.deal != "once"
    )
    obstacles[f"regime = {plan.regime!r}: sites train together; use 'federated'"] = (
        plan.regime != "federated"
    )
    obstacles["public: takes the center's rows from the clients'; name public.source"] = (
        plan.public is not None and plan.public.source is None
    )
    obstacles["features.project: needs public rows at every site; leave it out"] = (
        plan.features.project is not None
    )
    obstacles[
        "private.words: needs 'all', since the words of a shared table would have to be told first"
    ] = plan.features.text in ("words", "pieces") and plan.private.words != "all"
    obstacles["data.share.counts: needs 'local', for nobody sees the rows of others"] = (
        share is not None and share.counts != "local"
    )
    obstacles[
        "data.share: the server of real sites keeps no words of its own; remove it, or [private]"
    ] = share is not None and plan.personal
    obstacles["server.rule: looks at single updates with rows of the center; use another rule"] = (
        plan.server.judges
    )
    return [sentence for sentence, there in obstacles.items() if there]
