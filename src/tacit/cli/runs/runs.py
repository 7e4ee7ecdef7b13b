"""tacit runs, show, compare and privacy: read the records of past runs."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli import tables
from tacit.cli.folders import (
    figures,
    find_last_change,
    format_result,
    list_run_folders,
    locate_run,
    summarise_listed_run,
)
from tacit.cli.options import (
    RUNS,
    AsJson,
    PageOrNone,
    Pieces,
    RunName,
    RunNames,
    Runs,
    Shuffle,
)
from tacit.errors import PlanError, RunError

if TYPE_CHECKING:
    from tacit.privacy.accounting.shuffle import ShuffleEstimate


def list_runs(runs: Runs = RUNS, as_json: AsJson = False) -> None:
    """List all runs, oldest first.

    \b
    Examples:
      tacit runs
      tacit runs --runs elsewhere/runs --json
    """
    folders = list_run_folders(runs)
    if as_json:
        tables.print_json("runs/1", {"runs": [_run_to_json(folder) for folder in folders]})
    elif not folders:
        tables.say(f"no run in {runs} yet; start one with `tacit run PLAN`")
    else:
        tables.table(
            ("run", "state", "result", "privacy", "when"),
            [_run_to_cells(folder) for folder in folders],
            prose=range(5),
        )


def show(run: RunName, runs: Runs = RUNS, as_json: AsJson = False) -> None:
    """Show the results of a run and the paths of its files.

    RUN is a name that `tacit runs` lists, or a folder.

    \b
    Examples:
      tacit runs show newsgroups-3
      tacit runs show newsgroups-3 --json
    """
    from tacit.report.as_json import run_to_json
    from tacit.runs.verify import list_damage

    folder = locate_run(run, runs)
    found = figures(folder)
    broken = list_damage(folder)
    if as_json:
        tables.print_json("run/1", {**run_to_json(found, folder), "damage": broken})
        return
    tables.say(f"{found.name}: {found.state}{', but NOT INTACT' if broken else ''}")
    for sentence in broken:
        tables.say(f"! {sentence}")
    tables.results(found)
    tables.files(folder)


def compare(
    names: RunNames, runs: Runs = RUNS, page: PageOrNone = None, as_json: AsJson = False
) -> None:
    """Compare runs: their results, and the settings in which they differ.

    \b
    Examples:
      tacit runs compare newsgroups-1 newsgroups-2
      tacit runs compare newsgroups-1 newsgroups-2 --page compare.html
      tacit runs compare newsgroups-1 newsgroups-2 newsgroups-3 --json
    """
    from tacit.report import HEADINGS, find_differences, list_cells
    from tacit.report.as_json import run_to_json
    from tacit.report.compare import format_setting

    folders = [locate_run(name, runs) for name in names]
    found = [figures(folder) for folder in folders]
    unlike = find_differences({run.name: run.plan for run in found})
    if page:
        from tacit.report.pages.compare_page import write

        write(found, page)
    if as_json:
        pairs = zip(found, folders, strict=True)
        tables.print_json(
            "comparison/1",
            {"runs": [run_to_json(run, folder) for run, folder in pairs], "differences": unlike},
        )
        return
    rows = [(run.name, *list_cells(own)[1:]) for run in found if (own := run.arm("run"))]
    tables.table(
        ["run", *(heading.replace(" / ", "/") for heading in HEADINGS[1:])],
        rows,
        prose=(0, len(HEADINGS) - 1),
    )
    if unlike:
        columns = [run.name for run in found]
        settings = [
            (key, *(format_setting(values.get(name)) for name in columns))
            for key, values in unlike.items()
        ]
        tables.table(("setting", *columns), settings)
    else:
        tables.say("the plans are identical")
    if page:
        tables.line(f"page:   {page}")


def privacy(
    run: RunName,
    shuffle: Shuffle = None,
    pieces: Pieces = False,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """State the privacy guarantee of a run, and what it does not protect.

    RUN is a name that `tacit runs` lists, or a folder.
    The first paragraph is written for data owners. --shuffle adds an estimate
    of epsilon with a shuffler; no run uses one. --pieces splits updates first,
    as LDP-FL does.

    \b
    Examples:
      tacit runs privacy newsgroups-3
      tacit runs privacy newsgroups-3 --json
      tacit runs privacy newsgroups-3 --shuffle 10000 --pieces
    """
    from tacit.report.as_json import privacy_to_json
    from tacit.report.audits import build_grids, select_latest

    folder = locate_run(run, runs)
    if pieces and shuffle is None:
        raise PlanError("--pieces needs --shuffle N, the number of clients")
    found, what_if = figures(folder), _estimate_shuffled(folder, shuffle, pieces)
    if as_json:
        tables.print_json(
            "privacy/1",
            {**privacy_to_json(found), **({"if_shuffled": asdict(what_if)} if what_if else {})},
        )
        return
    promise = found.privacy
    tables.say(promise.statement)
    if promise.meaning:
        tables.say(promise.meaning.sentence)
    if promise.totals:
        relation = "; ".join(promise.relations)
        rows = [
            (total.text, total.composition, relation, promise.rests_on) for total in promise.totals
        ]
        tables.table(
            ("epsilon", "composition", "neighbouring data", "trust in"),
            rows,
            prose=range(4),
        )
    tables.say("Not protected:")
    for sentence in promise.unprotected:
        tables.say(f"  - {sentence}")
    for audit in select_latest(found.audits):
        if audit.name == "canaries":
            tables.say(" ".join(["Canaries:", *audit.findings["sentences"]]))
            for grid in build_grids(audit):
                tables.table(grid.headings, grid.rows, prose=range(grid.words))
    if what_if:
        tables.say(what_if.sentence)


def _estimate_shuffled(
    folder: Path, clients: int | None, in_pieces: bool
) -> ShuffleEstimate | None:
    from tacit.report.privacy import describe_shuffled
    from tacit.runs.run_folder import entries

    if clients is None:
        return None
    return describe_shuffled(list(entries(folder)), clients, in_pieces=in_pieces)


def _when(folder: Path) -> datetime:
    return datetime.fromtimestamp(find_last_change(folder)).astimezone()


def _run_to_cells(folder: Path) -> tuple[str, ...]:
    from tacit.report import phrasing

    when = f"{_when(folder):%Y-%m-%d %H:%M}"
    try:
        run = summarise_listed_run(folder)
    except RunError:
        return folder.name, "damaged record", phrasing.NONE, phrasing.NONE, when
    own = run.arm("run")
    if own is None:
        return run.name, run.state, phrasing.NONE, phrasing.NONE, when
    return run.name, run.state, format_result(run), own.privacy, when


def _run_to_json(folder: Path) -> dict[str, Any]:
    from tacit.report.as_json import run_to_json

    when = _when(folder).isoformat(timespec="seconds")
    try:
        return {**run_to_json(figures(folder), folder), "when": when}
    except RunError as error:
        return {
            "run": folder.name,
            "state": "damaged record",
            "error": str(error),
            "folder": str(folder),
            "when": when,
        }
