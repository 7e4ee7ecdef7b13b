"""Runs without faults and with them, a table, and exit code 1 if anything was not charged, charged
twice or different.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.faults.field import small_plan, started
from bench.faults.trial import FaultTrial, Trials
from tacit import simulation
from tacit.api import Run

_FIGURES = ("arrived", "uncharged", "double", "other_totals", "unanswered", "damaged")


def main(words: Sequence[str] | None = None) -> int:
    """Make the runs and return the exit code."""
    given = list(sys.argv[1:] if words is None else words)
    if given[:1] == ["table"]:
        from bench.faults import table

        return table.main(given[1:])
    parser = argparse.ArgumentParser(prog="python -m bench faults", description=__doc__)
    parser.add_argument("--site-kills", type=int, default=20, help="kill -9 of a site (default 20)")
    parser.add_argument(
        "--deploy-kills",
        type=int,
        default=5,
        help="kill -9 of tacit deploy run, which is then resumed (default 5)",
    )
    parser.add_argument(
        "--server-kills",
        type=int,
        default=5,
        help="kill -9 of tacit server start, which is started again (default 5)",
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of a run (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default 1)")
    parser.add_argument(
        "--folder", type=Path, help="keep everything there; without it, it is removed"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    asked = parser.parse_args(words)
    place = asked.folder or Path(tempfile.mkdtemp(prefix="tacit-faults-"))
    place.mkdir(parents=True, exist_ok=True)
    try:
        plan = small_plan(place, asked.rounds)
        simulated = Run(simulation.start(plan, place / "simulated")).parameters_sha256
        with started(place, plan) as here:
            trials = Trials(
                here,
                np.random.default_rng(asked.seed),
                lambda text: print(text, file=sys.stderr, flush=True),
            )
            made = [trials.undisturbed()]
            for kind, kills in (
                ("site", asked.site_kills),
                ("deploy", asked.deploy_kills),
                ("server", asked.server_kills),
            ):
                made += trials.under(kind, kills)
    finally:
        if asked.folder is None:
            shutil.rmtree(place, ignore_errors=True)
    wanted = {
        "none": 0,
        "site": asked.site_kills,
        "deploy": asked.deploy_kills,
        "server": asked.server_kills,
    }
    rows = [
        _row(kind, [one for one in made if one.kind == kind], simulated, kills)
        for kind, kills in wanted.items()
    ]
    if asked.json:
        print(
            json.dumps(
                {"simulated": simulated, "rows": rows, "runs": [asdict(one) for one in made]},
                indent=1,
            )
        )
    else:
        _show(rows)
    return 0 if all(row["ok"] for row in rows) else 1


def _row(kind: str, made: list[FaultTrial], simulated: str, wanted: int) -> dict[str, object]:
    """Return what came of the runs of one kind; a payment without an answer is no fault, if there
    is no more than one per kill.
    """
    kills = sum(len(one.kills) for one in made)
    told = {name: sum(getattr(one.verdict, name) for one in made) for name in _FIGURES}
    whole = sum(one.code == 0 for one in made)
    same = sum(one.model == simulated for one in made)
    bad = (
        any(told[name] for name in ("uncharged", "double", "other_totals", "damaged"))
        or told["unanswered"] > kills
    )
    ok = not bad and kills >= wanted and whole == same == len(made)
    return {
        "killed": kind,
        "kills": kills,
        "runs": len(made),
        "completed": whole,
        "same model": same,
        **told,
        "ok": ok,
    }


def _show(rows: list[dict[str, object]]) -> None:
    names = {
        "arrived": "answers",
        "other_totals": "other totals",
        "unanswered": "paid, not answered",
        "damaged": "ledgers damaged",
    }
    grid = Table(
        *(names.get(name, name) for name in rows[0]), title="kill -9", title_justify="left"
    )
    for row in rows:
        grid.add_row(
            *(
                "yes" if value is True else "NO" if value is False else str(value)
                for value in row.values()
            )
        )
    Console(width=140).print(grid)


if __name__ == "__main__":
    sys.exit(main())
