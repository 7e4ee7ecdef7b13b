"""tacit audit: what an attacker gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from tacit.cli import tables
from tacit.cli.options import RUNS, AllowCode, AsJson, Overrides, PlanFile, Quiet, RunName, Runs

if TYPE_CHECKING:
    from tacit.audit.messages.audit import MessageAudit as MessageAudit
    from tacit.audit.words.reconstruct import WordAudit as WordedAudit

commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help=(
        "What an attacker gets from what is sent: words, categories and labels of a client, or the"
        " values behind tokens."
    ),
)
Number = TypeVar("Number", int, float)
_CLIENTS, _SEEDS = 20, 3
Clients = Annotated[
    int | None,
    typer.Option("--clients", metavar="N", min=1, help=f"How many clients to attack: {_CLIENTS}."),
]
Seeds = Annotated[
    str | None,
    typer.Option("--seeds", metavar="S,S", help="Seeds to try: the plan's and the two after it."),
]
Texts = Annotated[
    int | None,
    typer.Option(
        "--texts",
        metavar="N",
        min=1,
        help="Word tables: how many of a client's texts to attack: 8.",
    ),
]
Batches = Annotated[
    str | None,
    typer.Option("--batches", metavar="LIST", help="Word tables: batch sizes to attack: 1,2,4,8."),
]
Search = Annotated[
    int | None,
    typer.Option(
        "--search",
        metavar="STEPS",
        min=0,
        help="Word tables: L-BFGS steps of a search for vectors; none without it.",
    ),
]
PerBit = Annotated[
    str | None,
    typer.Option(
        "--per-bit",
        metavar="LIST",
        help="Word tables: epsilons per bit of randomised response to try: 8,1.",
    ),
]
Into = Annotated[
    str | None,
    typer.Option(
        "--into", metavar="RUN", help="Also keep the findings in the record of this finished run."
    ),
]
Page = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", help="Also write a page with all tables.")
]
WithRows = Annotated[
    bool,
    typer.Option(
        "--rows",
        help="Also show what some clients hold and what was read of it; without it only figures.",
    ),
]


@commands.command()
def reconstruct(
    plan: PlanFile,
    overrides: Overrides = None,
    clients: Clients = None,
    seeds: Seeds = None,
    texts: Texts = None,
    batches: Batches = None,
    search: Search = None,
    per_bit: PerBit = None,
    rows: WithRows = False,
    page: Page = None,
    into: Into = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Try to read what a client holds from what it sends.

    Messages are made as the plan's own features, training, clip and codec make
    them in the first round. Which words, categories and labels of a client do
    they tell, to the server, and to whoever sees the models? A plan that reads
    words through a table (FedVocab) has its own attack: four attackers, with a
    shared table and private ones. Simulated data only.

    \b
    Examples:
      tacit audit reconstruct plan.toml
      tacit audit reconstruct plan.toml --clients 50 --rows --page audit.html
      tacit audit reconstruct plan.toml -o codec.epsilon=0.5 --json
      tacit audit reconstruct examples/fedvocab.toml --texts 4 --into fedvocab-1
    """
    from tacit.plan import load

    job = load(plan, overrides)
    folder = _finished(into, RUNS) if into else None
    if job.features.text in ("words", "pieces"):
        from tacit.audit.words.reconstruct import reconstruct as attack

        _refuse({"--clients": clients, "--seeds": seeds}, job.features.text)
        sizes, epsilons = (
            _numbers(batches or "1,2,4,8", "--batches", int),
            _numbers(per_bit or "8,1", "--per-bit", float),
        )
        found = attack(job, texts or 8, sizes, search or 0, epsilons, _teller(quiet))
        made = _worded(found if rows else replace(found, examples=()))
    else:
        from tacit.audit.messages.audit import read_messages

        _refuse(
            {"--texts": texts, "--batches": batches, "--search": search, "--per-bit": per_bit},
            job.features.text,
        )
        chosen = (
            _numbers(seeds, "--seeds", int, least=0)
            if seeds
            else tuple(range(job.seed, job.seed + _SEEDS))
        )
        made = _messages(
            read_messages(job, clients or _CLIENTS, chosen, rows=rows, progress=_teller(quiet))
        )
    if page:
        from tacit.audit.page_frame import write

        write(made.page(), page)
    if folder:
        _keep(made, folder)
    if as_json:
        tables.print_json(made.values)
    else:
        made.show()
        if page:
            tables.line(f"page: {page}")


@commands.command()
def tokens(
    run: RunName,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    allow_code: AllowCode = False,
) -> None:
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
    from tacit import report
    from tacit.audit.tokens.audit import NAME, audit_tokens
    from tacit.report.audits import build_grids
    from tacit.runs import record, run_folder

    folder = _finished(run, runs)
    found = record.Audited(
        name=NAME, findings=audit_tokens(folder, _teller(quiet), allow_code=allow_code).as_json()
    )
    run_folder.add(folder, found)
    page = report.write(folder)
    if as_json:
        tables.print_json(found.findings)
        return
    for sentence in found.findings["sentences"]:
        tables.say(f"- {sentence}")
    for grid in build_grids(found):
        tables.say()
        tables.say(grid.title)
        tables.table(grid.headings, grid.rows, prose=range(grid.words))
    tables.line(f"report: {page}")


def _finished(run: str, runs: Path) -> Path:
    """Return the folder of a run, before the audit begins; raise RunError if there is none that has
    ended.
    """
    from tacit.cli.folders import figures, folder_of
    from tacit.errors import RunError

    folder = folder_of(run, runs)
    found = figures(folder)
    if not found.finished:
        raise RunError(
            f"run {run}: needs to be finished for an audit, got one that is {found.state}; finish"
            f" it with `tacit resume {run}`"
        )
    return folder


def _refuse(given: dict[str, object], text: str) -> None:
    """Raise PlanError at an option that has no meaning for the plan."""
    from tacit.errors import PlanError

    wrong = [option for option, value in given.items() if value is not None]
    if wrong:
        raise PlanError(
            f"{', '.join(wrong)}: has no meaning with features.text = {text!r}; see `tacit audit"
            " reconstruct --help`"
        )


class _Made(NamedTuple):
    """An audit that was made: what a record may keep of it, everything as plain values, its page,
    and how it is printed.
    """

    name: str
    findings: dict[str, Any]
    values: dict[str, Any]
    page: Callable[[], str]
    show: Callable[[], None]


def _worded(audit: WordedAudit) -> _Made:
    """Return the attack on a plan that reads words through a table."""
    from tacit.audit.words.page import render_page, write_sentences

    values = audit.as_json()
    findings = {
        "sentences": write_sentences(audit),
        "source": audit.source,
        "lines": values["lines"],
    }
    return _Made(
        "reconstruct", findings, values, lambda: render_page(audit), lambda: _print_worded(audit)
    )


def _messages(audit: MessageAudit) -> _Made:
    """Return the attack on messages of any other plan."""
    from tacit.audit.messages.audit import NAME
    from tacit.audit.messages.page import render_page

    values = audit.as_json()
    findings = {key: value for key, value in values.items() if key != "examples"}
    return _Made(NAME, findings, values, lambda: render_page(audit), lambda: _print_messages(audit))


def _print_worded(audit: WordedAudit) -> None:
    from tacit.audit.words.reconstruct import ATTACKERS

    recall = {
        (line.setting, line.seen, line.batch, line.attacker): f"{line.score.recall:.0%}"
        for line in audit.lines
    }
    rows = [
        (
            setting,
            seen,
            str(batch),
            *(recall[setting, seen, batch, attacker] for attacker in ATTACKERS),
        )
        for setting, seen, batch in dict.fromkeys(key[:3] for key in recall)
    ]
    tables.say("Share of the words read (recall)")
    tables.table(("setting", "seen", "batch", *ATTACKERS), rows, prose=(0, 1))


def _print_messages(audit: MessageAudit) -> None:
    from tacit.audit.messages.audit import write_sentences
    from tacit.audit.messages.grids import build_example_grids, build_grids, write_heading

    tables.say(write_heading(audit))
    for title, headings, rows in build_grids(audit):
        tables.say()
        tables.say(title)
        tables.table(headings, rows)
    for title, headings, rows in build_example_grids(audit):
        tables.say()
        tables.say(title)
        tables.table(headings, rows, prose=range(len(headings)))
    for sentence in write_sentences(audit):
        tables.say(f"- {sentence}")


def _keep(made: _Made, folder: Path) -> None:
    from tacit import report
    from tacit.runs import record, run_folder

    # The figures, not the texts: what was read of a client's words does not belong in a record.
    run_folder.add(folder, record.Audited(name=made.name, findings=made.findings))
    report.write(folder)


def _numbers(
    text: str, option: str, kind: Callable[[str], Number], least: int | None = None
) -> tuple[Number, ...]:
    """Return the numbers of a list: above 0, or from `least` on."""
    from tacit.errors import PlanError

    try:
        found = tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found or (min(found) <= 0 if least is None else min(found) < least):
        needs = "above 0" if least is None else f"from {least} on"
        raise PlanError(
            f"{option} {text}: needs numbers {needs} with commas between them, for example 1,2,4,8"
        )
    return found


def _teller(quiet: bool) -> Callable[[str], None]:
    def tell(words: str) -> None:
        if not quiet:
            tables.line(f"attacking: {words}", stderr=True)

    return tell
