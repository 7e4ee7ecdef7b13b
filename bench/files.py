"""`python -m bench.files [PLAN]`: how many files of `src/tacit` a plan visits in one round, in a run, and at a site.

A file is visited if one of its functions is called, in any thread. Importing it does not count, nor
what is called meanwhile. A round is the second one of `tacit run`; a site is one of three in this process, over its whole run.
With `--list` the files are named. Worker processes are not followed, so take a plan whose model is
compiled.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from bench import ROOT
from tacit import plan as plans
from tacit.plan import Plan

SOURCES = ROOT / "src" / "tacit"
ROUND = ("protocol/loop.py", "run_round")
_PLAIN = """
name = "plain"
seed = 3
[data]
source = "{rows}"
clients = 20
columns = {{ text = ["opinion"], label = "stars" }}
[features]
buckets = 300
[model]
name = "mlp"
hidden = [8]
[codec]
name = "plain"
[server]
rounds = 3
"""


class Visits:
    """Code objects whose calls were seen, in total and in the second round."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.in_round: set[CodeType] = set()
        self.rounds = 0
        self._thread = threading.local()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call; the profiler of `sys.setprofile`."""
        code, here = frame.f_code, self._thread.__dict__
        if code.co_name == "<module>" and event in ("call", "return"):
            here["imports"] = here.get("imports", 0) + (1 if event == "call" else -1)
        elif here.get("imports"):
            return
        elif event == "call":
            if _is(code, ROUND):
                self.rounds += 1
            self.codes.add(code)
            if self.rounds == 2:
                self.in_round.add(code)
        elif event == "return" and self.rounds == 2 and _is(code, ROUND):
            self.rounds += 1

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note the calls of this thread, and of threads begun in the meantime."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def files_in(codes: set[CodeType]) -> list[str]:
    """The files of the package in which some functions stand; bodies of classes do not count."""
    named = {Path(one.co_filename) for one in codes if one.co_flags & CO_OPTIMIZED}
    return sorted(
        str(path.relative_to(SOURCES))
        for path in named
        if path.suffix == ".py" and path.is_relative_to(SOURCES)
    )


def visited_by_run(path: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Files visited by one round of `tacit run`, and by all of it."""
    from tacit.cli import main

    visits, before = Visits(), sys.argv
    sys.argv = [
        "tacit",
        "run",
        str(path),
        "--runs",
        str(folder),
        "--quiet",
        "--no-report",
        "-o",
        "baselines=[]",
    ]
    try:
        with visits.watched():
            main()
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        sys.argv = before
    return files_in(visits.in_round), files_in(visits.codes)


def visited_by_site(plan: Plan, folder: Path) -> list[str]:
    """Files that the first of three sites visits over its run."""
    from tacit.deployment.server.job import deploy
    from tacit.simulation.rehearsal import prepare_rehearsal
    from tests.deployment.local_post import owner, sites_of

    ready = prepare_rehearsal(replace(plan, baselines=()), folder / "rows", 3)
    owners = [
        owner(name, file, folder / name) for name, file in zip("abc", ready.files, strict=True)
    ]
    sites, visits = sites_of(owners), Visits()
    first = sites.transport.sites["a"]  # type: ignore[attr-defined]
    handle = first.handle

    def watched(letter: bytes) -> bytes:
        with visits.watched():
            return bytes(handle(letter))

    first.handle = watched
    deploy(ready.plan, sites, folder / "deployed", test=str(ready.test))
    return files_in(visits.codes)


def _is(code: CodeType, place: tuple[str, str]) -> bool:
    return code.co_name == place[1] and code.co_filename == str(SOURCES / place[0])


def _write_plain(folder: Path) -> Path:
    from tests.simulation.small import write_csv

    path = folder / "plain.toml"
    path.write_text(_PLAIN.format(rows=write_csv(folder / "rows.csv")))
    return path


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.files", description=__doc__)
    parser.add_argument("plan", type=Path, nargs="?", help="a plan; without one, a small plain one")
    parser.add_argument("--list", action="store_true", help="name the files")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = asked.plan or _write_plain(folder)
        one_round, run = visited_by_run(path, folder / "runs")
        site = visited_by_site(plans.load(path), folder / "sites")
    for title, files in (("one round", one_round), ("a run", run), ("a deployed site", site)):
        print(f"{title}: {len(files)} files")
        if asked.list:
            print(*(f"  {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main()
