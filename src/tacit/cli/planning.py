"""tacit check and tacit init: plans before they run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import AsJson, Overrides, PlanFile
from tacit.errors import DataError, PlanError

if TYPE_CHECKING:
    from tacit.plan import Plan, Sharing

Target = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the plan.")]
Table = Annotated[
    Path | None,
    typer.Option("--from", metavar="TABLE", help="A table of your own: .csv .tsv .jsonl .parquet .arrow", show_default=False),
]
Label = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="With --from: the column to predict.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]


def check(plan: PlanFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Say whether a plan can run, and what it would promise; no data is read.

    A plan that cannot run gets one message that lists all that is wrong,
    and exit code 2.

    \b
    Examples:
      tacit check plan.toml
      tacit check plan.toml -o codec.epsilon=0.5 --json
    """
    from tacit.cli import as_json as objects
    from tacit.cli import tables
    from tacit.plan import load

    loaded = load(plan, overrides)
    summary = outline(loaded)
    if as_json:
        objects.show({"plan": str(plan), "ok": True, "summary": summary})
        return
    print(f"{plan}: ok")
    for what, text in summary.items():
        tables.say(f"  {what + ':':11}{text}")


def init(file: Target = Path("plan.toml"), table: Table = None, label: Label = None, force: Force = False) -> None:
    """Write a plan with comments, for the 20 Newsgroups example or for a table of your own.

    With --from, the table is read, the role of each column is guessed, and
    the guesses are printed with their reasons. Change them in the file.

    \b
    Examples:
      tacit init
      tacit init --from my.csv
      tacit init visits.toml --from visits.parquet --label readmitted
    """
    if file.exists() and not force:
        raise PlanError(f"{file}: is there already; choose another name or overwrite it with --force")
    if label is not None and table is None:
        raise PlanError("--label: has no meaning without --from TABLE")
    text = _own(table, label, file) if table else _example()
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PlanError(f"{file}: cannot be written ({error.strerror}); choose another place") from None
    print(f"wrote {file}; next: tacit run {file}")


def _example() -> str:
    from tacit.cli.plan_text import EXAMPLE

    return EXAMPLE


def _own(table: Path, label: str | None, file: Path) -> str:
    from tacit.cli import tables
    from tacit.cli.guess import guess
    from tacit.cli.plan_text import own
    from tacit.data.read import is_file_source, read_file

    if not is_file_source(str(table)):
        raise DataError(f"{table}: is of an unknown kind; --from takes a .csv, .tsv, .jsonl, .parquet or .arrow file")
    frame, _ = read_file(str(table))
    guesses = guess(frame, label)
    tables.table(("column", "role", "because"), [(one.column, one.role, one.why) for one in guesses], prose=range(3))
    tables.say(f"To change a role, edit [data.columns] in {file}.")
    name = re.sub(r"[^\w-]+", "-", table.stem).strip("-")[:60] or "run"
    return own(guesses, str(table), frame.height, name, str(file))


def outline(plan: Plan) -> dict[str, str]:
    """Return what a plan would do, room by room, and what it would promise."""
    from tacit.plan import dump
    from tacit.report.cards import method_facts

    data, server = plan.data, plan.server
    clients = "each owner a client" if data.partition == "client" else f"{data.clients:,} clients"
    facts: dict[str, Any] = dict(method_facts(dump(plan)))
    return {
        "data": f"{data.source}, {clients}, split {facts['Split']}",
        "model": facts["Model"],
        "local": facts["Local training"],
        "codec": facts["Codec"],
        "server": f"{server.rounds} rounds, {facts['Server']}",
        "baselines": ", ".join(plan.baselines) or "none",
        **({"shared": _shared(plan.data.share)} if plan.data.share else {}),
        "privacy": _promise(plan),
    }


def _shared(share: Sharing) -> str:
    where = "in every column but the label" if share.release == "whole_row" else "in the quasi-identifiers"
    rule = f"{share.rule}, k = {share.k:,}" + (f", l = {share.l:g}" if share.l is not None else "")
    return f"rows that look alike {where} go to the server in full ({rule}); `tacit disclose` shows which. The rest:"


def _promise(plan: Plan) -> str:
    from tacit.report.cards import epsilon_unit
    from tacit.report.phrasing import bound, epsilon

    if plan.local.method == "local":
        return "nothing leaves a client"
    if plan.local.method == "central":
        return "none: rows are pooled in one place"
    if plan.codec.epsilon is None:
        return "none: updates are sent in the clear, so no bound exists per update or per run"
    terms = "under replacing all rows of one client, trusting nobody else"
    per_run = f"at most {plan.server.rounds} × that per run (uses add up)"
    stated = f"{epsilon(plan.codec.epsilon, epsilon_unit(plan.codec.name))}, {terms}"
    if epsilon_unit(plan.codec.name) == "update":
        return f"{stated}; {per_run}"
    return f"{stated}; one bit per parameter, so at most {bound(plan.codec.epsilon)} × parameters per update, and {per_run}"
