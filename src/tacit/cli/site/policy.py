"""tacit site policy: write a data owner's policy, and check plans against it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Force, Overrides, PlanFile
from tacit.errors import PlanError, PolicyError

if TYPE_CHECKING:
    from tacit.plan import Plan
    from tacit.privacy.policy import Policy, PrivacyUnit, Requirements


Target = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the policy.")]
For = Annotated[
    Path | None,
    typer.Option(
        "--for",
        metavar="PLAN",
        help="Allow this plan only, with the epsilon it states.",
        show_default=False,
    ),
]
Given = Annotated[
    Path,
    typer.Argument(
        metavar="POLICY",
        help="The policy, a TOML file, or the folder of its site.",
        show_default=False,
    ),
]
Parameters = Annotated[
    int | None,
    typer.Option(
        "--parameters",
        metavar="N",
        min=1,
        help="Number of model parameters, if the plan does not determine it.",
    ),
]


def init(file: Target = Path("policy.toml"), plan: For = None, force: Force = False) -> None:
    """Write a commented policy for the owner of the data to edit.

    The policy is restrictive: it refuses every plan until columns are named
    in it, and every plan that trusts the server (trust_server = false). With
    --for it allows exactly one plan, even one that trusts the server; each
    line that reveals something is marked in the file and printed.

    \b
    Examples:
      tacit site policy init
      tacit site policy init mine.toml --for plan.toml
    """
    from tacit.privacy.policy.starter import render_policy

    if file.exists() and not force:
        raise PlanError(f"{file} already exists; choose another name or overwrite it with --force")
    asked = None
    if plan is not None:
        from tacit.deployment.plan_requirements import compute_requirements
        from tacit.plan import load
        from tacit.privacy.policy import Limits, Policy

        loaded = load(plan)
        asked = compute_requirements(loaded, policy=Policy(limits=Limits(delta=loaded.delta)))
    try:
        file.write_text(render_policy(str(file), asked), encoding="utf-8")
    except OSError as error:
        raise PlanError(
            f"{file} cannot be written ({error.strerror}); choose another path"
        ) from None
    if plan is None:
        tables.line(
            f"wrote {file}; it refuses every plan until you name columns under [columns], or:"
            f" {_command_for(file, 'PLAN')}"
        )
        return
    for number, setting, gives in _marked_lines(file):
        tables.line(f"{file}, line {number}: {setting} reveals: {gives}")
    tables.line(f"wrote {file}; next: tacit site policy check {file} {plan}")


def _marked_lines(file: Path) -> list[tuple[int, str, str]]:
    """Lines of a policy that reveal something: number, setting, and what it reveals."""
    from tacit.privacy.policy.giveaways import MARK

    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    parts = [(number, *line.partition(f"# {MARK}")) for number, line in lines]
    return [(number, setting.strip(), gives) for number, setting, mark, gives in parts if mark]


def _command_for(policy: Path, plan: Path | str) -> str:
    return (
        f"`tacit site policy init {policy} --for {plan} --force` allows only that plan and marks what"
        " it reveals"
    )


def check(
    policy: Given,
    plan: PlanFile,
    overrides: Overrides = None,
    parameters: Parameters = None,
    as_json: AsJson = False,
) -> None:
    """Check a plan against a policy; exit code 3 if the policy refuses it. No data is read.

    If the policy is in a site's folder, the site's client column and
    quasi-identifiers (site.toml) are checked too. The plan's hash is printed,
    for `hashes` under [plans]. A site checks again when it knows the model's
    size, and at every message.

    \b
    Examples:
      tacit site policy check policy.toml plan.toml
      tacit site policy check hospital-a plan.toml
      tacit site policy check policy.toml plan.toml -o codec.epsilon=0.5 --json
      tacit site policy check policy.toml plan.toml --parameters 506451
    """
    from dataclasses import asdict, replace

    from tacit.cli.folders import find_in_site
    from tacit.deployment.plan_requirements import compute_requirements
    from tacit.deployment.site.site_folder import POLICY
    from tacit.plan import load
    from tacit.privacy.policy import find_refusals, find_unit_refusals, load_policy
    from tacit.privacy.policy.user_code import allows_code

    policy = find_in_site(policy, POLICY)
    limits, unit, planned = load_policy(policy), read_unit(policy), load(plan, overrides)
    asked = compute_requirements(
        planned,
        parameters=parameters,
        policy=limits,
        allow_code=allows_code(limits, planned),
    )
    # Sites run no baselines; a simulation under this policy would.
    broken = find_refusals(limits, replace(asked, baselines=()) if unit else asked) + (
        find_unit_refusals(unit, asked) if unit else []
    )
    broken += _without_peers(planned, policy.parent)
    if as_json:
        facts = {
            "asks": asdict(asked),
            "refusals": broken,
            "measures": _measures(limits, asked) if asked.measures else "",
        }
        tables.print_json("policy-check/1", {"policy": str(policy), "plan": str(plan), **facts})
    else:
        for what, text in _asks(asked).items():
            tables.say(f"  {what + ':':12}{text}")
        if asked.measures:
            tables.say(f"  {'measures:':12}{_measures(limits, asked)}")
    if broken:
        raise refusal(policy, [*broken, *_remedies(policy, plan, broken)])
    if not as_json:
        if unit is None:
            tables.say(
                f"There is no site.toml next to {policy}, so the client column and"
                " quasi-identifiers were not checked."
            )
        unknown = ", as far as is known before data is read; --parameters N adds its privacy loss"
        tables.line(f"{policy}: allows {plan}{unknown if asked.epsilon_per_run is None else ''}")


def _remedies(policy: Path, plan: Path, broken: list[str]) -> list[str]:
    """What the owner of the data can change to allow the plan."""
    trusted = any(sentence.startswith("allow.trust_server") for sentence in broken)
    line = (
        "trust_server = true under [allow], if the server may see single updates; or"
        " [secure_aggregation] in the plan"
    )
    return [*([f"to change: {line}"] if trusted else []), f"or: {_command_for(policy, plan)}"]


def read_unit(policy: Path) -> PrivacyUnit | None:
    """The privacy unit of the policy's site; None if the policy is not in a site's folder."""
    from tacit.deployment.site.site_folder import SETTINGS, read_site_settings

    return read_site_settings(policy.parent).unit if (policy.parent / SETTINGS).exists() else None


def _without_peers(plan: Plan, folder: Path) -> list[str]:
    """The refusal of a plan with helpers at a site without peers; empty outside a site's folder."""
    from tacit.deployment.site.site_folder import SETTINGS, read_peers, read_site_settings
    from tacit.deployment.site.terms_checks import refuse_without_peers

    if not (folder / SETTINGS).exists():
        return []
    try:
        refuse_without_peers(plan, read_site_settings(folder).name, read_peers(folder))
    except PolicyError as error:
        return [str(error)]
    return []


def check_policy(plan: Plan, policy: Path | None) -> None:
    """Raise PolicyError, before anything is sent, if the policy does not allow the plan.

    Rows are read only if the plan discloses rows and is allowed otherwise.
    """
    if policy is None:
        return
    from tacit.deployment.plan_requirements import compute_requirements
    from tacit.privacy.policy import find_refusals, find_unit_refusals, load_policy, refuse_rows
    from tacit.privacy.policy.user_code import allows_code

    limits = load_policy(policy)
    unit, asked = (
        read_unit(policy),
        compute_requirements(plan, allow_code=allows_code(limits, plan)),
    )
    broken = find_refusals(limits, asked) + (find_unit_refusals(unit, asked) if unit else [])
    if not broken and plan.data.share is not None:
        from tacit.simulation.prepared_rows import preview

        broken = refuse_rows(limits, preview(plan).facts)
    if broken:
        raise refusal(policy, broken)


def refusal(policy: Path | None, broken: list[str]) -> PolicyError:
    """The error that lists everything a policy refuses in a plan."""
    return PolicyError(
        "\n".join(
            [
                f"refused: {policy} does not allow the plan",
                *(f"  {sentence}" for sentence in broken),
            ]
        )
    )


def _asks(asked: Requirements) -> dict[str, str]:
    """What a plan requires of a site, in words."""
    per_run = (
        "no epsilon per client is known before data is read"
        if asked.epsilon_per_run is None
        else _loss(asked)
    )
    if asked.unbounded:
        per_run = f"some responses without an epsilon per client; the others: {per_run}"
    facts: dict[str, Any] = {
        "plan": asked.plan_hash,
        "trains": f"{asked.model}, sent by {asked.codec}",
        "reads": "all columns" if asked.columns is None else _reads(asked.columns),
        "clients": f"each value of {asked.client}" if asked.client else "one per site",
        "disclosures": ", ".join(asked.disclosures),
        "rounds": f"{asked.rounds:,}",
        "loss": per_run,
        "discloses": (
            f"k = {asked.k:,}; {', '.join(asked.released)}" if asked.k is not None else ""
        ),
    }
    return {what: text for what, text in facts.items() if text}


def _reads(columns: dict[str, tuple[str, ...]]) -> str:
    return "; ".join(f"{', '.join(names)} as {role}" for role, names in columns.items())


def _measures(policy: Policy, asked: Requirements) -> str:
    """How often models are evaluated on held-out rows, how the policy responds, and the loss."""
    from tacit.privacy.policy import find_measures_too_costly

    often = f"{asked.measures:,} times, on {asked.test_share:.3g} of the rows"
    if policy.measures.counts != "noisy":
        return (
            f"{often}; the site sends"
            f" {'exact counts' if policy.measures.counts == 'exact' else 'no counts'}"
        )
    why = find_measures_too_costly(policy, asked)
    if why or asked.epsilon_with_measures is None:
        return f"{often}; {why or 'the loss of noisy counts is not known before data is read'}"
    return (
        f"{often}; with noisy counts the privacy loss of the run is at most epsilon"
        f" {asked.epsilon_with_measures:g} per client"
    )


def _loss(asked: Requirements) -> str:
    return f"at most epsilon {asked.epsilon_per_run:g} per client and run (delta = {asked.delta:g})"
