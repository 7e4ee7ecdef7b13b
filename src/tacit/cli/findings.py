"""Findings of `tacit server doctor` and `tacit site doctor`, and their exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Missed

if TYPE_CHECKING:
    from tacit.deployment.doctor import Finding

Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Check only the process, its port, certificates, secret files and disk.",
    ),
]


def report_findings(found: Iterable[tuple[str, Finding]], *, as_json: bool) -> None:
    """Print findings, each with what it is of; Missed, exit code 1, if one is a problem."""
    listed = list(found)
    if as_json:
        tables.print_json(
            "findings/1", {"findings": [{"of": of, **asdict(one)} for of, one in listed]}
        )
    else:
        tables.table(
            ("of", "check", "", "result", "remedy"),
            [(of, one.subject, one.state, one.detail, one.remedy) for of, one in listed],
            prose=range(5),
        )
    problems = sum(one.state == "problem" for _, one in listed)
    if problems:
        raise Missed(f"doctor: {'1 problem' if problems == 1 else f'{problems} problems'}")
