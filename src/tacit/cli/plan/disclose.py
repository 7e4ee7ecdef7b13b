"""tacit plan disclose: preview what a plan would send, for the owner of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Overrides, PageOrNone, PlanFile, PolicyFile
from tacit.cli.site.policy import read_unit, refusal
from tacit.errors import PlanError

if TYPE_CHECKING:
    from tacit.data.k_anonymity import ClassSummary, Findings
    from tacit.plan import Plan
    from tacit.simulation.disclosure import Preview

WithRows = Annotated[
    bool,
    typer.Option("--rows", help="Also write the rows that would be disclosed, next to the page."),
]
PAGE = Path("disclosure.html")


def disclose(
    plan: PlanFile,
    overrides: Overrides = None,
    rows: WithRows = False,
    policy: PolicyFile = None,
    page: PageOrNone = None,
    as_json: AsJson = False,
) -> None:
    """Preview what a plan would send. Nothing is sent.

    It builds one real message as a client would and shows it field by field.
    If the plan has [data.share], it also writes a page about the rows that
    would be disclosed and what they reveal; --rows writes the rows themselves.
    With --json alone, it writes no file.

    \b
    Examples:
      tacit plan disclose plan.toml
      tacit plan disclose plan.toml --policy mine.toml
      tacit plan disclose plan.toml -o data.share.k=200 --rows --json
    """
    from tacit.deployment.plan_requirements import compute_requirements
    from tacit.plan import load
    from tacit.privacy.policy import find_refusals, find_unit_refusals, load_policy, refuse_rows
    from tacit.simulation.prepared_rows import preview

    loaded = load(plan, overrides)
    limits = load_policy(policy) if policy else None
    if loaded.data.share is None:
        _refuse_row_options(page, rows)
        _show_message(loaded, policy, as_json=as_json)
        return
    ahead = preview(loaded)
    broken = list[str]()
    if limits and policy:
        unit, asked = read_unit(policy), compute_requirements(loaded)
        broken = [
            *find_refusals(limits, asked),
            *(find_unit_refusals(unit, asked) if unit else ()),
            *refuse_rows(limits, ahead.facts),
        ]
    files = dict[str, str]()
    if page or rows or not as_json:
        files = _write(ahead, page or PAGE, with_rows=rows and not broken, broken=broken)
    if as_json:
        tables.print_json(
            "disclosure/1",
            {
                **_object(ahead),
                "files": files,
                "policy": {"file": str(policy) if policy else None, "violations": broken},
            },
        )
    else:
        _print(ahead, files)
    if broken:
        raise refusal(policy, broken)


def _refuse_row_options(page: Path | None, rows: bool) -> None:
    """Raise PlanError for options that apply to disclosed rows only."""
    asked = [name for name, given in (("--page", page is not None), ("--rows", rows)) if given]
    if asked:
        raise PlanError(
            f"{' and '.join(asked)}: the plan has no [data.share], so it discloses no rows;"
            f" `tacit plan disclose` without {'them' if len(asked) > 1 else 'it'} shows the message that"
            " a client sends"
        )


def _show_message(plan: Plan, policy: Path | None, *, as_json: bool) -> None:
    """Show the message of a plan that discloses no rows."""
    from dataclasses import asdict

    from tacit.cli.site.policy import check_policy
    from tacit.cli.top.check import outline
    from tacit.privacy.statement.lists import group_names
    from tacit.simulation.advice.first_message import first_message

    check_policy(plan, policy)
    found, promise = first_message(plan), outline(plan)["privacy"]
    if as_json:
        tables.print_json("message/1", {"rows": 0, "privacy": promise, "message": asdict(found)})
        return
    tables.say(f"{promise}.")
    tables.say("No row leaves a client. In each round, each sampled client sends one message:")
    fields = [(name, str(value)) for name, value in found.fields.items()]
    fields.append(("head", f"{found.head_bytes:,} bytes: the fields above"))
    fields.append(("payload", f"{found.payload_bytes:,} bytes: {found.first_bytes} …"))
    tables.table(("field", "value"), fields, prose=range(2))
    tables.say(
        f"The payload is {'; '.join(found.mechanism)}, of an update of {found.parameters:,}"
        " parameters."
    )
    tables.say(f"The model reads {found.reads}.")
    for names in group_names(found.in_the_clear):
        tables.say(f"Sent once before round one, in the clear: {names}.")


def _write(ahead: Preview, page: Path, *, with_rows: bool, broken: list[str]) -> dict[str, str]:
    from tacit.report.pages.disclosure import render_disclosure

    found = ahead.findings
    looks = [vars(look) for look in _list_extreme_classes(found)]
    rows = page.with_suffix(".parquet")
    try:
        page.write_text(
            render_disclosure(ahead.facts, found.rows_per_client, looks, broken), encoding="utf-8"
        )
        if with_rows:
            ahead.offer.released().write_parquet(rows)
    except OSError as error:
        raise PlanError(
            f"--page {page} cannot be written ({error.strerror}); choose another path"
        ) from None
    return {"page": str(page), **({"rows": str(rows)} if with_rows else {})}


def _list_extreme_classes(found: Findings) -> list[ClassSummary]:
    """The largest equivalence classes, then the smallest, each once."""
    smallest = [look for look in found.smallest[::-1] if look not in found.largest]
    return [*found.largest, *smallest]


def _object(ahead: Preview) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        **asdict(ahead.findings),
        "share": ahead.findings.share,
        "bytes_per_client": ahead.facts.bytes_per_client,
    }


def _print(ahead: Preview, files: dict[str, str]) -> None:
    from tacit.privacy import ledger

    found = ahead.findings
    tables.say(ledger.describe_disclosure(ahead.facts))
    tables.table(
        ("client", "rows", "disclosed", "share", "bytes"),
        [
            (
                str(client),
                f"{held:,}",
                f"{given:,}",
                f"{100 * given / max(1, held):.1f} %",
                f"{size:,}",
            )
            for client, (held, given, size) in enumerate(
                zip(
                    found.rows_per_client,
                    found.disclosed_per_client,
                    ahead.facts.bytes_per_client,
                    strict=True,
                )
            )
        ],
    )
    if found.disclosed:
        tables.table(
            (*found.key, "rows", "labels"),
            [_cells(look) for look in _list_extreme_classes(found)],
            prose=range(len(found.key) + 2),
        )
        tables.say(
            f"{found.classes:,} equivalence classes would be disclosed,"
            f" {found.single_label_classes:,} of them with a single label."
            f" {_describe_labels('disclosed', found.labels_disclosed)}."
            f" {_describe_labels('kept', found.labels_kept)}."
        )
    for what, path in files.items():
        tables.line(f"{what + ':':6}{path}")


def _cells(look: ClassSummary) -> tuple[str, ...]:
    labels = ", ".join(f"{name} {count:,}" for name, count in look.labels.items() if count)
    return (*(str(value) for value in look.values.values()), f"{look.rows:,}", labels)


def _describe_labels(rows: str, labels: dict[str, int]) -> str:
    total = max(1, sum(labels.values()))
    shares = ", ".join(
        f"{name} {100 * count / total:.1f} %" for name, count in list(labels.items())[:6]
    )
    return f"Labels of {rows} rows: {shares}"
