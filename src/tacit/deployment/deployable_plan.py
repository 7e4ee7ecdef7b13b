"""A plan as sites receive it: settings that only a simulation can use are removed or refused, and
columns are written out.
"""

from __future__ import annotations

from dataclasses import replace

from tacit import data, features
from tacit.errors import PlanError
from tacit.plan import GIVEN, Audit, Engine, Plan
from tacit.plan.codec import readable


def prepare_for_sites(plan: Plan, simulated_noise: bool = False) -> Plan:
    """The plan that is offered to sites. Each site reads its own rows, so `data.source` names none.

    With `simulated_noise` all sites share the plan's seed, and with it every secret. Raises
    PlanError naming everything that sites cannot do.
    """
    plan = remove_simulation_settings(plan)
    refuse_undeployable(plan, simulated_noise)
    return plan


def refuse_undeployable(plan: Plan, simulated_noise: bool) -> None:
    """Raise PlanError naming everything in a plan that sites cannot do. Sites do not trust the
    server, so they check too.
    """
    found = _problems(plan)
    is_shared = plan.negotiation is not None or bool(plan.negotiated_file)
    if not (simulated_noise or readable(plan.codec) or is_shared):
        found.append(
            f"codec.name = {plan.codec.name!r}: sites have no secret in common for tokens; add"
            " [negotiation], by which they agree on one"
        )
    if not (simulated_noise or is_shared) and features.needs_secret(plan.features):
        found.append(
            "features.quantise: sites have no secret in common for tokens of columns; add"
            " [negotiation], by which they agree on one"
        )
    if plan.data.columns.label is None and plan.statistics is None:
        found.append(
            "data.columns.label: needs the column to predict, since sites read files of their own;"
            " got nothing"
        )
    if plan.features.is_bought:
        found.append(
            "features.fit = 'private': sites are asked in two runs, one for features and one for"
            " training; `tacit deploy run` starts both"
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
    """Remove what has no meaning at a site: the source of a simulation's rows, how it divides them,
    its baselines, its simulated network, and where its figures are logged.

    The hash of a plan in an owner's policy is the hash of this form of the plan.
    """
    stated = plan.privacy.clients if plan.privacy and plan.data.partition == "client" else None
    settings = replace(
        plan.data,
        source=GIVEN,
        clients=stated or plan.data.clients,
        columns=data.resolve_columns(plan.data, import_code=False),
        partition="iid",
        by=None,
        limit=None,
        validation=0.0,
    )
    return replace(plan, data=settings, baselines=(), network=None, engine=Engine(), track=None)


def _problems(plan: Plan) -> list[str]:
    """A sentence for each setting that only a simulation can use."""
    share, obstacles = plan.data.share, dict[str, bool]()
    obstacles["corrupt: makes clients misbehave in a simulation; remove the table"] = (
        plan.corrupt is not None
    )
    obstacles["audit.canaries: are made-up clients of a simulation; remove the key"] = (
        plan.audit != Audit()
    )
    obstacles["data.deal = 'every_round': the rows of real clients stay with them; use 'once'"] = (
        plan.data.deal != "once"
    )
    obstacles[f"regime = {plan.regime!r}: sites train together; use 'federated'"] = (
        plan.regime != "federated"
    )
    obstacles["public: takes the server's rows from the clients'; name public.source"] = (
        plan.public is not None and plan.public.source is None
    )
    obstacles[
        "private.words must be 'all': sites would have to disclose the words of a shared table first"
    ] = plan.features.text in ("words", "pieces") and plan.private.words != "all"
    obstacles[
        "data.share.counts = 'stable': needs noise that no site knows, and sites cannot draw it"
        " together; use 'local' or 'global'"
    ] = share is not None and share.counts == "stable"
    obstacles[
        "data.share.counts = 'with_test': counts test rows of all sites; use 'local' or 'global'"
    ] = share is not None and share.counts == "with_test"
    obstacles[
        "data.share.counts = 'global': needs [secure_aggregation] with helpers of at least 2, so"
        f" that nobody sees the counts of one site; got {plan.helpers}"
    ] = share is not None and share.counts == "global" and plan.helpers < 2
    obstacles["server.rule: looks at single updates with rows of the center; use another rule"] = (
        plan.server.judges
    )
    return [sentence for sentence, there in obstacles.items() if there]
