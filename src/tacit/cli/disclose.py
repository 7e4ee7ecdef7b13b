"""tacit disclose: what a plan would let leave, shown to the person whose rows they are, before anything leaves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Overrides, PlanFile, PolicyFile
from tacit.cli.policy import refusal
from tacit.errors import PlanError

if TYPE_CHECKING:
    from tacit.data.disclose import Findings, Look
    from tacit.engine.disclosure import Preview

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only look: write the picture, but not the rows.")]
Page = Annotated[Path, typer.Option("--page", metavar="FILE", help="Where to draw the picture.")]


def disclose(
    plan: PlanFile,
    overrides: Overrides = None,
    dry_run: DryRun = False,
    policy: PolicyFile = None,
    page: Page = Path("disclosure.html"),
    as_json: AsJson = False,
) -> None:
    """Show which rows a plan would hand to the server, and what they would give away.

    Nothing is sent and nothing is trained. Without --dry-run the very rows
    are written beside the picture, to be looked at one by one.

    \b
    Examples:
      tacit disclose plan.toml --dry-run
      tacit disclose plan.toml --dry-run --policy mine.toml
      tacit disclose plan.toml -o data.share.k=200 --json
    """
    from tacit.engine.asked import asked_of
    from tacit.engine.simulated_data import preview
    from tacit.ledger.owner import load_policy, refusals, violations
    from tacit.plan import load

    loaded = load(plan, overrides)
    limits = load_policy(policy) if policy else None
    ahead = preview(loaded)
    broken = [*refusals(limits, asked_of(loaded)), *violations(limits, ahead.facts)] if limits else []
    files = _write(ahead, page, with_rows=not dry_run and not broken, broken=broken)
    if as_json:
        tables.print_json(
            {**_object(ahead), "files": files, "policy": {"file": str(policy) if policy else None, "violations": broken}}
        )
    else:
        _print(ahead, files)
    if broken:
        raise refusal(policy, broken)


def _write(ahead: Preview, page: Path, *, with_rows: bool, broken: list[str]) -> dict[str, str]:
    from tacit.report import disclosure_page

    found = ahead.findings
    looks = [vars(look) for look in _each_once(found)]
    rows = page.with_suffix(".parquet")
    try:
        page.write_text(disclosure_page(ahead.facts, found.rows_per_client, looks, broken), encoding="utf-8")
        if with_rows:
            ahead.offer.released().write_parquet(rows)
    except OSError as error:
        raise PlanError(f"--page {page}: cannot be written ({error.strerror}); choose another place") from None
    return {"page": str(page), **({"rows": str(rows)} if with_rows else {})}


def _each_once(found: Findings) -> list[Look]:
    """Return the largest classes, then the smallest, none twice."""
    smallest = [look for look in found.smallest[::-1] if look not in found.largest]
    return [*found.largest, *smallest]


def _object(ahead: Preview) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(ahead.findings), "share": ahead.findings.share, "bytes_per_client": ahead.facts.bytes_per_client}


def _print(ahead: Preview, files: dict[str, str]) -> None:
    from tacit import ledger

    found = ahead.findings
    tables.say(ledger.disclosure(ahead.facts))
    tables.table(
        ("client", "rows", "leave", "load saved", "bytes"),
        [
            (str(client), f"{held:,}", f"{given:,}", f"{100 * given / max(1, held):.1f} %", f"{size:,}")
            for client, (held, given, size) in enumerate(
                zip(found.rows_per_client, found.disclosed_per_client, ahead.facts.bytes_per_client, strict=True)
            )
        ],
    )
    if found.disclosed:
        tables.table((*found.key, "rows", "labels"), [_cells(look) for look in _each_once(found)], prose=range(len(found.key) + 2))
        tables.say(
            f"{found.classes:,} classes would leave, {found.single_label_classes:,} of them with one label only. "
            f"{_mixed('leave', found.labels_disclosed)}; {_mixed('stay', found.labels_kept)}."
        )
    for what, path in files.items():
        tables.line(f"{what + ':':6}{path}")


def _cells(look: Look) -> tuple[str, ...]:
    labels = ", ".join(f"{name} {count:,}" for name, count in look.labels.items() if count)
    return (*(str(value) for value in look.values.values()), f"{look.rows:,}", labels)


def _mixed(what: str, labels: dict[str, int]) -> str:
    total = max(1, sum(labels.values()))
    shares = ", ".join(f"{name} {100 * count / total:.1f} %" for name, count in list(labels.items())[:6])
    return f"Of the rows that {what}: {shares}"
