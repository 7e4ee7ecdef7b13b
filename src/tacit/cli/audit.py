"""tacit audit: what an attacker gets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tacit.cli import tables
from tacit.cli.options import RUNS, AsJson, Overrides, PlanFile, Quiet, RunName, Runs

if TYPE_CHECKING:
    from tacit.audit.reconstruct import Audit

commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="What an attacker gets from what is sent: a client's words, or the values behind tokens.",
)
Number = TypeVar("Number", int, float)
Texts = Annotated[int, typer.Option("--texts", metavar="N", min=1, help="How many of a client's texts to attack.")]
Batches = Annotated[str, typer.Option("--batches", metavar="LIST", help="Batch sizes to attack, for example 1,2,4,8.")]
Search = Annotated[
    int, typer.Option("--search", metavar="STEPS", min=0, help="L-BFGS steps of the search for vectors; 0 leaves it out.")
]
PerBit = Annotated[str, typer.Option("--per-bit", metavar="LIST", help="Epsilons per bit of randomised response to try.")]
Into = Annotated[
    str | None, typer.Option("--into", metavar="RUN", help="Also keep the findings in the record of this finished run.")
]
Page = Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Also write a page with the texts side by side.")]


@commands.command()
def reconstruct(
    plan: PlanFile,
    overrides: Overrides = None,
    texts: Texts = 8,
    batches: Batches = "1,2,4,8",
    search: Search = 0,
    per_bit: PerBit = "8,1",
    page: Page = None,
    into: Into = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Try to read a client's words from what it sends, as four attackers.

    Compares a shared word table with private ones (public, rotated and random
    first vectors), and what randomised bits change. Simulated data only.

    \b
    Examples:
      tacit audit reconstruct examples/fedvocab.toml --page audit.html
      tacit audit reconstruct plan.toml --texts 4 --search 30 --json
      tacit audit reconstruct examples/fedvocab.toml --into fedvocab-1
    """
    from tacit.audit.reconstruct import reconstruct as attack
    from tacit.plan import load

    job = load(plan, overrides)
    folder = _finished(into, RUNS) if into else None
    audit = attack(job, texts, _numbers(batches, "--batches", int), search, _numbers(per_bit, "--per-bit", float), _teller(quiet))
    if page:
        from tacit.audit.reconstruct_page import write

        write(audit, page)
    if folder:
        _keep(audit, folder)
    if as_json:
        tables.print_json(audit.as_json())
    else:
        _print(audit, page)


@commands.command()
def tokens(run: RunName, runs: Runs = RUNS, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Attack the tokens of a finished run of the hashcomb codec.

    RUN is a name that `tacit runs` lists, or a folder. A few more rounds are
    trained from its last model, and what its clients send there is attacked: the
    order of channels from tokens alone, ranges without a secret, what an insider
    reads, channels with the same token, false histograms. The findings go into
    the run's record and onto its report page.

    \b
    Examples:
      tacit audit tokens spam-1
      tacit audit tokens spam-1 --json
    """
    from tacit import record, report
    from tacit.audit.tokens.audit import NAME, audit
    from tacit.engine import run_folder
    from tacit.report.audits import grids

    folder = _finished(run, runs)
    found = record.Audited(name=NAME, findings=audit(folder, _teller(quiet)).as_json())
    run_folder.add(folder, found)
    page = report.write(folder)
    if as_json:
        tables.print_json(found.findings)
        return
    for sentence in found.findings["sentences"]:
        tables.say(f"- {sentence}")
    for grid in grids(found):
        tables.say()
        tables.say(grid.title)
        tables.table(grid.headings, grid.rows, prose=range(grid.words))
    tables.line(f"report: {page}")


def _finished(run: str, runs: Path) -> Path:
    """Return the folder of a run, before the audit begins; raise RunError if there is none that has ended."""
    from tacit.cli.folders import figures, folder_of
    from tacit.errors import RunError

    folder = folder_of(run, runs)
    found = figures(folder)
    if not found.finished:
        raise RunError(
            f"run {run}: needs to be finished for an audit, got one that is {found.state}; finish it with `tacit resume {run}`"
        )
    return folder


def _keep(audit: Audit, folder: Path) -> None:
    from tacit import record, report
    from tacit.audit.reconstruct_page import sentences
    from tacit.engine import run_folder

    # The figures, not the texts: what was read of a client's words does not belong in a record.
    findings = {"sentences": sentences(audit), "source": audit.source, "lines": audit.as_json()["lines"]}
    run_folder.add(folder, record.Audited(name="reconstruct", findings=findings))
    report.write(folder)


def _numbers(text: str, option: str, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    from tacit.errors import PlanError

    try:
        found = tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found or min(found) <= 0:
        raise PlanError(f"{option} {text}: needs numbers above 0 with commas between them, for example 1,2,4,8")
    return found


def _teller(quiet: bool) -> Callable[[str], None]:
    def tell(words: str) -> None:
        if not quiet:
            tables.line(f"attacking: {words}", stderr=True)

    return tell


def _print(audit: Audit, page: Path | None) -> None:
    from tacit.audit.reconstruct import ATTACKERS

    recall = {(line.setting, line.seen, line.batch, line.attacker): f"{line.score.recall:.0%}" for line in audit.lines}
    rows = [
        (setting, seen, str(batch), *(recall[setting, seen, batch, attacker] for attacker in ATTACKERS))
        for setting, seen, batch in dict.fromkeys(key[:3] for key in recall)
    ]
    tables.say("Share of the words read (recall)")
    tables.table(("setting", "seen", "batch", *ATTACKERS), rows, prose=(0, 1))
    if page:
        tables.line(f"page: {page}")
