"""What `tacit plan tune` adds to the plans of `tacit init --one-bit`: `python -m bench tuned`.

Each line takes the plan of a line of `python -m bench defaults`, searches on validation rows as the
command does, one run at a time, and then measures both plans on test rows, which the search never
saw. Time is the sum over all runs of the search, divided by that of the plan's own run to the end;
baselines are in neither. Runs are kept below bench/out/tuned: a stop loses at most one.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bench import ROOT
from bench.defaults import CASES, BenchmarkCase, kept, ours, table_of, tree_of
from tacit.plan import Plan, toml
from tacit.runs import record, run_folder, sweep
from tacit.runs.tune import Trial, tune

OUT = ROOT / "bench" / "out" / "tuned"


@dataclass(frozen=True, kw_only=True)
class Found:
    """One line: accuracy of the plan and of the tuned plan in percent, and what the search cost in
    runs of the plan.
    """

    validation: tuple[float, float]
    test: tuple[float, float]
    cost: float
    changed: str


class _Unwatched:
    """Looks on without a word."""

    def report_start(self, number: int) -> None: ...

    def report_round(self, number: int, round_no: int, rounds: int) -> None: ...

    def report_warning(self, number: int, text: str) -> None: ...

    def report_end(self, number: int, outcome: sweep.Outcome) -> None: ...


def search(case: BenchmarkCase, seed: int) -> Found:
    """Return what a search from the plan of `init` finds, and what it is worth on test rows."""
    table = table_of(case.source, seed)
    tree = tree_of(case, table.columns, table.train.height, seed)
    place = OUT / f"{case.source}-{case.clients}-{case.partition}-{seed}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "plan.toml").write_text(toml.write(tree))

    def run(plans: list[Plan], titles: list[str]) -> list[sweep.Outcome]:
        return sweep.carry_out(plans, place / "runs", 1, _Unwatched())

    found = tune(place / "plan.toml", [], run)
    (place / "plan-tuned.toml").write_text(found.text)
    better = tomllib.loads(found.text)
    own, best = found.planned.settings, found.best.settings
    return Found(
        validation=(_percent(found.planned), _percent(found.best)),
        test=(kept(tree, partial(ours, tree)), kept(better, partial(ours, better))),
        cost=sum(map(_seconds, found.trials)) / _seconds(found.planned),
        changed=", ".join(f"{key}={value}" for key, value in best.items() if own[key] != value),
    )


def _percent(trial: Trial) -> float:
    return 100 * (trial.accuracy or 0.0)


def _seconds(trial: Trial) -> float:
    """How long a run trained and measured; 0 if it failed."""
    entries = list(run_folder.entries(trial.folder)) if trial.folder else []
    return sum(one.seconds for one in record.select_entries(entries, record.Finished, record.RUN))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return how many lines break a promise: worse on validation rows, or more
    than ten runs' time.
    """
    parser = argparse.ArgumentParser(prog="python -m bench tuned", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", default="", help="lines whose title contains this, such as spambase"
    )
    asked = parser.parse_args(arguments)
    print(
        "| plan of init | validation, plan | tuned | test, plan | tuned | time, in runs | changed |"
    )
    print("|---|---|---|---|---|---|---|")
    broken = 0
    for case in [case for case in CASES if asked.only in case.title]:
        found = search(case, asked.seed)
        broken += found.validation[1] < found.validation[0] or found.cost > 10
        figures = " | ".join(
            f"{figure:.1f}" for figure in (*found.validation, *found.test, found.cost)
        )
        print(f"| {case.title} | {figures} | {found.changed or 'nothing'} |", flush=True)
    return broken


if __name__ == "__main__":
    raise SystemExit(main())
