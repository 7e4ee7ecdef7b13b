"""`python -m bench faults table [ROW …]`: what happens to a run between sites when something goes wrong.

Each row is a run of its own. It ends as stated, or the row fails. Results are kept in a JSON file, so that rows can be
run one at a time, and written to a page.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import ROOT, SOURCE
from bench.faults import scene as scenes
from bench.faults.field import small_plan
from bench.faults.table_rows import ROWS, FaultRow, find_folders
from tests.deploy.network import can_make_namespaces

PAGE = ROOT / "docs" / "benchmarks" / "faults.md"
RESULTS = ROOT / "docs" / "results" / "faults.json"
ROUNDS = 6
_ROW_SECONDS = 420.0


def main(words: Sequence[str] | None = None) -> int:
    """Run rows that have no result yet, or those that are named; write results and page."""
    parser = argparse.ArgumentParser(prog="python -m bench faults table", description=__doc__)
    parser.add_argument("rows", nargs="*", help=f"any of: {', '.join(ROWS)}")
    parser.add_argument("--again", action="store_true", help="run rows again that have a result")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(words)
    if asked.inside:
        (asked.inside / "result.json").write_text(
            json.dumps(_make(ROWS[asked.rows[0]], asked.inside))
        )
        return 0
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in asked.rows or ROWS:
        if name in found and not asked.again and not asked.rows:
            continue
        found[name] = _run_row(ROWS[name])
        RESULTS.write_text(
            json.dumps({one: found[one] for one in ROWS if one in found}, indent=1) + "\n"
        )
        problems = list_problems(ROWS[name], found[name], found.get("undisturbed", {}))
        print(
            f"{'ok  ' if not problems else 'FAIL'} {name}: {'; '.join(problems) or found[name]['seconds']}",
            flush=True,
        )
    PAGE.write_text(write_page(found))
    return int(
        any(
            list_problems(ROWS[name], one, found.get("undisturbed", {}))
            for name, one in found.items()
        )
    )


def _run_row(row: FaultRow) -> dict[str, Any]:
    """Run a row in a process of its own, in the server's namespace if there are namespaces."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-fault-"))
    words = [sys.executable, "-m", "bench.faults.table", row.name, "--inside", str(folder)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{SOURCE}"}
    try:
        if not can_make_namespaces():
            if row.needs_links:
                return {"skipped": "needs the right to make network namespaces"}
            return _watch(words, environment, folder)
        beginning = f"tf{os.getpid()}"
        with scenes.make_spaces(beginning):
            environment[scenes.SPACES] = beginning
            prefix = ["ip", "netns", "exec", f"{beginning}s"]
            return _watch([*prefix, *words], environment, folder)
    finally:
        for mounted in find_folders(row, folder):
            subprocess.run(["umount", "-l", str(mounted)], check=False, capture_output=True)
        if not os.environ.get("TACIT_FAULT_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)


def _watch(words: list[str], environment: dict[str, str], folder: Path) -> dict[str, Any]:
    with (folder / "row.log").open("w") as log:
        process = subprocess.Popen(
            words, stdout=log, stderr=log, env=environment, start_new_session=True
        )
        try:
            process.wait(_ROW_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    path = folder / "result.json"
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text())
        return found
    last = (folder / "row.log").read_text().strip().splitlines()[-1:] or [""]
    return {"failed": f"no result within {_ROW_SECONDS:g} s ({last[0][:200]})", "seconds": 0.0}


def _make(row: FaultRow, folder: Path) -> dict[str, Any]:
    plan = small_plan(folder, ROUNDS)
    with scenes.open_scene(folder, plan, find_folders(row, folder)) as scene:
        began = time.monotonic()
        run = row.happen(scene)
        seconds = time.monotonic() - began
        runs = [scene.sum_up(one) for one in scene.runs]
        second = folder / "second.log"
        return {
            "seconds": round(seconds, 1),
            "load": round(os.getloadavg()[0], 1),
            "rows_of_runs": runs,
            "coordinator": scenes.list_lines(run.deploy.read_log()),
            "second": scenes.list_lines(second.read_text()) if second.exists() else [],
            "site": scenes.list_lines(scene.sites["c"].read_log()),
            "server": scenes.list_lines(scene.server.read_log()),
        }


def list_problems(row: FaultRow, found: dict[str, Any], usual: dict[str, Any]) -> list[str]:
    """What is not as it must be in a row."""
    if "skipped" in found:
        return []
    if "failed" in found:
        return [str(found["failed"])]
    problems: list[str] = []
    model = usual["rows_of_runs"][0]["model"] if usual else None
    for one in found["rows_of_runs"]:
        if one["code"] != 0:
            problems.append(f"the run ended with exit code {one['code']}")
        elif model and (one["model"] == model) == bool(row.why):
            problems.append("the model is the same" if row.why else "the model differs")
        books = one["ledgers"]
        problems += [
            f"{books[name]} {name}" for name in ("uncharged", "double", "damaged") if books[name]
        ]
        charges = usual["rows_of_runs"][0]["charges"] if usual else one["charges"]
        if not row.why and one["charges"] != charges:
            problems.append("clients are charged otherwise than in the undisturbed run")
        waited = sum(seconds for *_, seconds in one["missing"])
        if row.most_waited is not None and not 0 < waited <= row.most_waited:
            problems.append(
                f"waited {waited:.1f} s for missing sites, at most {row.most_waited:g} are right"
            )
    return problems


def write_page(found: dict[str, Any]) -> str:
    """The page with all rows that have a result."""
    usual = found.get("undisturbed", {})
    lines = [
        "# When something goes wrong",
        "",
        "Each row is a run of six rounds between three sites, with the noise of a simulation. Server and sites have a network"
        " namespace each. `python -m bench faults table` makes all rows that have no result, and checks them:"
        " the run ends, the model has the hash of the undisturbed run or differs for the stated reason, and"
        " every ledger is verified. Seconds lost are wall time beyond the undisturbed run. They include the"
        " fault itself and new starts of processes. Other programs kept the two cores busy, so they are"
        " rough: the load is that of one minute at the end of a run.",
        "",
        "| what happens | seconds lost | load | waited for missing sites, s | model | ledgers | checked |",
        "| --- | ---: | ---: | ---: | --- | --- | --- |",
    ]
    for name, row in ROWS.items():
        if name not in found:
            lines.append(f"| {row.title} | | | | | | not run yet |")
            continue
        one = found[name]
        if "rows_of_runs" not in one:
            lines.append(f"| {row.title} | | | | | | {one.get('skipped') or one.get('failed')} |")
            continue
        lost = one["seconds"] - usual.get("seconds", 0.0)
        waited = sum(seconds for run in one["rows_of_runs"] for *_, seconds in run["missing"])
        problems = list_problems(row, one, usual)
        unanswered = sum(run["ledgers"]["unanswered"] for run in one["rows_of_runs"])
        books = "verified" + (f"; {unanswered} charge without a response" if unanswered else "")
        model = f"differs: {row.why}" if row.why else "the same"
        shown = "ok" if not problems else "; ".join(problems)
        lines.append(
            f"| {row.title} | {max(0.0, lost):.0f} | {one['load']:.0f} | {waited:.1f} | {model} | {books} | {shown} |"
        )
    lines += ["", "## What people see", ""]
    for name, row in ROWS.items():
        if name == "undisturbed" or "rows_of_runs" not in found.get(name, {}):
            continue
        one = found[name]
        lines += [f"**{row.title[0].upper()}{row.title[1:]}**", ""]
        people = (("coordinator", "coordinator"), ("second", "second"), ("site c", "site"))
        seen = [
            f"{who + ':':13}{line}"
            for who, key in (*people, ("server", "server"))
            for line in scenes.choose_lines(one[key])
        ]
        lines += ["```text", *seen, "```", ""] if seen else ["Nobody sees anything unusual.", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
