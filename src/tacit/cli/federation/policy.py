"""tacit policy: what a data owner allows, kept by every command that would use the owner's rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Overrides, PlanFile
from tacit.errors import PlanError, PolicyError

if TYPE_CHECKING:
    from tacit.plan import Plan
    from tacit.privacy.policy import Policy, PrivacyUnit, Requirements

commands = typer.Typer(
    no_args_is_help=True,
    help="What a data owner allows: write a policy, and try a plan against it.",
)

Target = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the policy.")]
For = Annotated[
    Path | None,
    typer.Option(
        "--for",
        metavar="PLAN",
        help="Allow this plan and no other, at the price it names.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]
Given = Annotated[
    Path, typer.Argument(metavar="POLICY", help="The policy, a TOML file.", show_default=False)
]
Parameters = Annotated[
    int | None,
    typer.Option(
        "--parameters",
        metavar="N",
        min=1,
        help="How many parameters the model has, where the plan leaves that open.",
    ),
]


@commands.command()
def init(file: Target = Path("policy.toml"), plan: For = None, force: Force = False) -> None:
    """Write a policy with comments, to be changed by the owner of the data.

    It is a careful one: until columns are named in it, it refuses every plan,
    and no promise may rest on the server (trust_server = false). With --for it
    allows one plan and nothing else, also if the plan trusts the server; every
    line that gives something away is marked in the file and printed.

    \b
    Examples:
      tacit policy init
      tacit policy init mine.toml --for plan.toml
    """
    from tacit.privacy.policy.starter import render_policy

    if file.exists() and not force:
        raise PlanError(
            f"{file}: is there already; choose another name or overwrite it with --force"
        )
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
            f"{file}: cannot be written ({error.strerror}); choose another place"
        ) from None
    if plan is None:
        tables.line(
            f"wrote {file}; it refuses every plan until you name columns under [columns], or:"
            f" {_command_for(file, 'PLAN')}"
        )
        return
    for number, setting, gives in _marked_lines(file):
        tables.line(f"{file}, line {number}: {setting} gives away: {gives}")
    tables.line(f"wrote {file}; next: tacit policy check {file} {plan}")


def _marked_lines(file: Path) -> list[tuple[int, str, str]]:
    """The lines of a policy that give something away: number, setting, and what it gives away."""
    from tacit.privacy.policy.giveaways import MARK

    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    parts = [(number, *line.partition(f"# {MARK}")) for number, line in lines]
    return [(number, setting.strip(), gives) for number, setting, mark, gives in parts if mark]


def _command_for(policy: Path, plan: Path | str) -> str:
    return (
        f"`tacit policy init {policy} --for {plan} --force` allows that plan alone and marks what"
        " it gives away"
    )


@commands.command()
def check(
    policy: Given,
    plan: PlanFile,
    overrides: Overrides = None,
    parameters: Parameters = None,
    as_json: AsJson = False,
) -> None:
    """Say what a policy would refuse in a plan, and exit with 3 if there is anything; no data is
    read.

    If the policy lies in a site's folder, the site's client column and
    quasi-identifiers (site.toml) are looked at too. The plan's hash is printed,
    for `hashes` under [plans]. A site looks again when it knows the model's
    size, and at every message.

    \b
    Examples:
      tacit policy check policy.toml plan.toml
      tacit policy check policy.toml plan.toml -o codec.epsilon=0.5 --json
      tacit policy check policy.toml plan.toml --parameters 506451
    """
    from dataclasses import asdict, replace

    from tacit.deployment.plan_requirements import compute_requirements
    from tacit.plan import load
    from tacit.privacy.policy import find_refusals, find_unit_refusals, load_policy
    from tacit.privacy.policy.user_code import allows_code

    limits, unit, planned = load_policy(policy), unit_beside(policy), load(plan, overrides)
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
        told = {
            "asks": asdict(asked),
            "refusals": broken,
            "measures": _measures(limits, asked) if asked.measures else "",
        }
        tables.print_json({"policy": str(policy), "plan": str(plan), **told})
    else:
        for what, text in _asks(asked).items():
            tables.say(f"  {what + ':':11}{text}")
        if asked.measures:
            tables.say(f"  {'measures:':11}{_measures(limits, asked)}")
    if broken:
        raise refusal(policy, [*broken, *_remedies(policy, plan, broken)])
    if not as_json:
        if unit is None:
            tables.say(
                f"No site.toml lies beside {policy}, so the client column and quasi-identifiers"
                " were not looked at."
            )
        open_cost = ", as far as is known before data; --parameters N tells what it may cost"
        tables.line(f"{policy}: allows {plan}{open_cost if asked.epsilon_per_run is None else ''}")


def _remedies(policy: Path, plan: Path, broken: list[str]) -> list[str]:
    """What the owner of the data can do about a refusal, if the owner wants the plan to run."""
    trusted = any(sentence.startswith("allow.trust_server") for sentence in broken)
    line = (
        "trust_server = true under [allow], if the server may see single updates; or"
        " [secure_aggregation]"
        " in the plan"
    )
    return [*([f"to change: {line}"] if trusted else []), f"or: {_command_for(policy, plan)}"]


def unit_beside(policy: Path) -> PrivacyUnit | None:
    """Return who the clients of a policy's site are; None if the policy lies in no site's
    folder.
    """
    from tacit.deployment.site.site_folder import SETTINGS, read_site_settings

    return read_site_settings(policy.parent).unit if (policy.parent / SETTINGS).exists() else None


def _without_peers(plan: Plan, folder: Path) -> list[str]:
    """What a site refuses in a plan with helpers if it knows no other site; nothing if the policy
    lies in no site's folder.
    """
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
    """Raise PolicyError if a run of the plan goes beyond the policy; nothing has left by then.

    What the plan says is looked at before any data; only if rows would leave are they looked at
    too.
    """
    if policy is None:
        return
    from tacit.deployment.plan_requirements import compute_requirements
    from tacit.privacy.policy import find_refusals, find_unit_refusals, load_policy, refuse_rows
    from tacit.privacy.policy.user_code import allows_code

    limits = load_policy(policy)
    unit, asked = (
        unit_beside(policy),
        compute_requirements(plan, allow_code=allows_code(limits, plan)),
    )
    broken = find_refusals(limits, asked) + (find_unit_refusals(unit, asked) if unit else [])
    if not broken and plan.data.share is not None:
        from tacit.simulation.prepared_rows import preview

        broken = refuse_rows(limits, preview(plan).facts)
    if broken:
        raise refusal(policy, broken)


def refusal(policy: Path | None, broken: list[str]) -> PolicyError:
    """Return the refusal that names every way in which a plan goes beyond a policy."""
    return PolicyError(
        "\n".join(
            [f"refused: the plan goes beyond {policy}", *(f"  {sentence}" for sentence in broken)]
        )
    )


def _asks(asked: Requirements) -> dict[str, str]:
    """Return what a plan asks, in words."""
    per_run = (
        "no epsilon per client that is known before data"
        if asked.epsilon_per_run is None
        else _loss(asked)
    )
    if asked.unbounded:
        per_run = f"answers without an epsilon per client, and beside them {per_run}"
    facts: dict[str, Any] = {
        "plan": asked.plan_hash,
        "trains": f"{asked.model}, sent by {asked.codec}",
        "reads": "whatever columns it finds" if asked.columns is None else _reads(asked.columns),
        "clients": f"each value of {asked.client}" if asked.client else "one per site",
        "disclosures": ", ".join(asked.disclosures),
        "rounds": f"{asked.rounds:,}",
        "costs": per_run,
        "rows leave": (
            f"k = {asked.k:,}; {', '.join(asked.released)}" if asked.k is not None else ""
        ),
    }
    return {what: text for what, text in facts.items() if text}


def _reads(columns: dict[str, tuple[str, ...]]) -> str:
    return "; ".join(f"{', '.join(names)} as {role}" for role, names in columns.items())


def _measures(policy: Policy, asked: Requirements) -> str:
    """How often models are measured on held-out rows, how this policy answers, and what
    that costs.
    """
    from tacit.privacy.policy import find_measures_too_costly

    often = f"{asked.measures:,} times, on {asked.test_share:.3g} of the rows"
    if policy.measures.counts != "noisy":
        return (
            f"{often}; answered with"
            f" {'exact counts' if policy.measures.counts == 'exact' else 'no counts'}"
        )
    why = find_measures_too_costly(policy, asked)
    if why or asked.epsilon_with_measures is None:
        return f"{often}; {why or 'what noisy counts cost is not known before data'}"
    return (
        f"{often}; with noisy counts the run costs at most epsilon {asked.epsilon_with_measures:g}"
        " per client"
    )


def _loss(asked: Requirements) -> str:
    return f"at most epsilon {asked.epsilon_per_run:g} per client and run (delta = {asked.delta:g})"
