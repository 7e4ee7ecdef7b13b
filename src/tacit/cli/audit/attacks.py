"""tacit audit: attack the messages of a plan or of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from tacit.cli import tables
from tacit.cli.options import (
    RUNS,
    AllowCode,
    AsJson,
    Overrides,
    PageOrNone,
    PlanFile,
    Quiet,
    RunName,
    Runs,
    Seeds,
)

if TYPE_CHECKING:
    from tacit.audit.messages.audit import MessageAudit
    from tacit.audit.words.reconstruct import WordAudit

Number = TypeVar("Number", int, float)
_CLIENTS, _SEEDS = 20, 3
Clients = Annotated[
    int | None,
    typer.Option("--clients", metavar="N", min=1, help=f"Clients to attack; default {_CLIENTS}."),
]
Texts = Annotated[
    int | None,
    typer.Option(
        "--texts",
        metavar="N",
        min=1,
        help="Word embeddings: texts of a client to attack; default 8.",
    ),
]
Batches = Annotated[
    str | None,
    typer.Option(
        "--batches", metavar="LIST", help="Word embeddings: batch sizes; default 1,2,4,8."
    ),
]
Search = Annotated[
    int | None,
    typer.Option(
        "--search",
        metavar="STEPS",
        min=0,
        help="Word embeddings: L-BFGS steps of a search for vectors; default 0 (no search).",
    ),
]
PerBit = Annotated[
    str | None,
    typer.Option(
        "--per-bit",
        metavar="LIST",
        help="Word embeddings: epsilons per bit of randomised response; default 8,1.",
    ),
]
Into = Annotated[
    str | None,
    typer.Option(
        "--into", metavar="RUN", help="Also add the findings to the record of this finished run."
    ),
]
WithRows = Annotated[
    bool,
    typer.Option(
        "--rows",
        help="Also show the data of some clients and what the attack recovered of it.",
    ),
]


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
    page: PageOrNone = None,
    into: Into = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Try to reconstruct a client's data from its messages.

    It builds first-round messages with the plan's features, training, clip
    and codec. It measures which words, categories and labels of a client they
    reveal, to the server and to anybody who sees the models. A plan with word
    embeddings (FedVocab) has its own attack: four attackers, on shared and on
    private embeddings. Simulated data only.

    \b
    Examples:
      tacit audit reconstruct plan.toml
      tacit audit reconstruct plan.toml --clients 50 --rows --page audit.html
      tacit audit reconstruct plan.toml -o codec.epsilon=0.5 --json
      tacit audit reconstruct examples/fedvocab.toml --texts 4 --into fedvocab-1
    """
    from tacit.plan import load

    job = load(plan, overrides)
    folder = _find_finished_run(into, RUNS) if into else None
    if job.features.text in ("words", "pieces"):
        from tacit.audit.words.reconstruct import reconstruct as attack

        _refuse({"--clients": clients, "--seeds": seeds}, job.features.text)
        sizes, epsilons = (
            _numbers(batches or "1,2,4,8", "--batches", int),
            _numbers(per_bit or "8,1", "--per-bit", float),
        )
        found = attack(job, texts or 8, sizes, search or 0, epsilons, _make_reporter(quiet))
        made = _present_word_audit(found if rows else replace(found, examples=()))
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
        made = _present_message_audit(
            read_messages(
                job, clients or _CLIENTS, chosen, rows=rows, progress=_make_reporter(quiet)
            )
        )
    if page:
        from tacit.audit.page_frame import write

        write(made.page(), page)
    if folder:
        _add_to_record(made, folder)
    if as_json:
        tables.print_json("reconstruction/1", made.values)
    else:
        made.show()
        if page:
            tables.line(f"page: {page}")


def tokens(
    run: RunName,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    allow_code: AllowCode = False,
) -> None:
    """Attack the tokens of a finished run of the hashcomb codec.

    RUN is a name that `tacit runs` lists, or a folder. It trains a few more
    rounds from the last model and attacks the messages: the order of channels
    from tokens alone, ranges without the secret, an insider, collisions of
    tokens, forged histograms. The findings go into the run's record and onto
    its report page.

    \b
    Examples:
      tacit audit tokens spam-1
      tacit audit tokens spam-1 --json
    """
    from tacit import report
    from tacit.audit.tokens.audit import NAME, audit_tokens
    from tacit.report.audits import build_grids
    from tacit.runs import record, run_folder

    folder = _find_finished_run(run, runs)
    found = record.Audited(
        name=NAME,
        findings=audit_tokens(folder, _make_reporter(quiet), allow_code=allow_code).as_json(),
    )
    run_folder.add(folder, found)
    page = report.write(folder)
    if as_json:
        tables.print_json("token-audit/1", found.findings)
        return
    for sentence in found.findings["sentences"]:
        tables.say(f"- {sentence}")
    for grid in build_grids(found):
        tables.say()
        tables.say(grid.title)
        tables.table(grid.headings, grid.rows, prose=range(grid.words))
    tables.line(f"report: {page}")


def _find_finished_run(run: str, runs: Path) -> Path:
    """The folder of a finished run; RunError, before the audit starts, if it is not finished."""
    from tacit.cli.folders import figures, locate_run
    from tacit.errors import RunError

    folder = locate_run(run, runs)
    found = figures(folder)
    if not found.finished:
        raise RunError(
            f"run {run} is {found.state}; an audit requires a finished run, so finish it with"
            f" `tacit resume {run}`"
        )
    return folder


def _refuse(given: dict[str, object], text: str) -> None:
    """Raise PlanError for options that do not apply to the plan."""
    from tacit.errors import PlanError

    wrong = [option for option, value in given.items() if value is not None]
    if wrong:
        raise PlanError(
            f"{', '.join(wrong)} cannot be used with features.text = {text!r}; see `tacit audit"
            " reconstruct --help`"
        )


class _AuditResult(NamedTuple):
    """A finished audit: findings for the record, all values for JSON, page and printer."""

    name: str
    findings: dict[str, Any]
    values: dict[str, Any]
    page: Callable[[], str]
    show: Callable[[], None]


def _present_word_audit(audit: WordAudit) -> _AuditResult:
    from tacit.audit.words.page import render_page, write_sentences

    values = audit.as_json()
    findings = {
        "sentences": write_sentences(audit),
        "source": audit.source,
        "lines": values["lines"],
    }
    return _AuditResult(
        "reconstruct",
        findings,
        values,
        lambda: render_page(audit),
        lambda: _print_word_audit(audit),
    )


def _present_message_audit(audit: MessageAudit) -> _AuditResult:
    from tacit.audit.messages.audit import NAME
    from tacit.audit.messages.page import render_page

    values = audit.as_json()
    findings = {key: value for key, value in values.items() if key != "examples"}
    return _AuditResult(
        NAME, findings, values, lambda: render_page(audit), lambda: _print_messages(audit)
    )


def _print_word_audit(audit: WordAudit) -> None:
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
    tables.say("Share of words recovered (recall)")
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


def _add_to_record(made: _AuditResult, folder: Path) -> None:
    from tacit import report
    from tacit.runs import record, run_folder

    # Figures only: recovered words of a client do not belong in a record.
    run_folder.add(folder, record.Audited(name=made.name, findings=made.findings))
    report.write(folder)


def _numbers(
    text: str, option: str, kind: Callable[[str], Number], least: int | None = None
) -> tuple[Number, ...]:
    """Parse numbers separated by commas, each positive or at least `least`."""
    from tacit.errors import PlanError

    try:
        found = tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found or (min(found) <= 0 if least is None else min(found) < least):
        bound = "positive numbers" if least is None else f"numbers of at least {least}"
        raise PlanError(
            f"{option} must be {bound} separated by commas, such as 1,2,4,8, got {text}"
        )
    return found


def _make_reporter(quiet: bool) -> Callable[[str], None]:
    def report(words: str) -> None:
        if not quiet:
            tables.line(f"attacking: {words}", stderr=True)

    return report
