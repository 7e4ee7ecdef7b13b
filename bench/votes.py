"""How many harmful and honest clients the votes of a plan reject in each round: `python -m
bench.votes [PLAN] [--seeds 1,2,3] [-o table.key=value] [--validate]`.

Each run's figures are kept below bench/out/votes under the hash of their plan, so a stop loses at
most one run. A round without votes of its own counts with the decision it keeps. `--validate`
evaluates on a fifth of the training rows, for choosing settings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import tomllib
from pathlib import Path
from statistics import fmean
from typing import Any

from bench import ROOT
from tacit import plan, simulation
from tacit.interval import confidence_interval
from tacit.plan import toml
from tacit.privacy import ledger
from tacit.runs import record
from tacit.runs.run_folder import RECORD

OUT = ROOT / "bench" / "out" / "votes"
Tree = dict[str, Any]
Figures = dict[str, Any]


def build_tree(path: Path, settings: list[str], seed: int, validate: bool) -> Tree:
    """The tables of a plan file with other settings and another seed."""
    tree: Tree = tomllib.loads(path.read_text(encoding="utf-8"))
    for setting in settings:
        toml.override(tree, setting)
    if validate:
        tree["data"]["validation"] = 0.2
    return tree | {"seed": seed}


def count_rejected(entries: list[record.Entry], rounds: int) -> list[tuple[int, int]]:
    """The rejected harmful and the rejected honest clients of each round."""
    bad = set(record.select_entries(entries, record.Corrupted)[0].clients)
    by_round = {
        one.round_no: set(one.rejected) for one in record.select_entries(entries, record.Voted)
    }
    found, last = [], set[int]()
    for round_no in range(1, rounds + 1):
        last = by_round.get(round_no, last)
        found.append((len(last & bad), len(last - bad)))
    return found


def compute_mean_scores(entries: list[record.Entry]) -> dict[int, tuple[float, float]]:
    """Mean score of the harmful and of the honest clients in each round that votes."""
    bad, found = set(record.select_entries(entries, record.Corrupted)[0].clients), {}
    for one in record.select_entries(entries, record.Voted):
        both = [
            [score for client, score in zip(one.clients, one.scores, strict=True) if side(client)]
            for side in (bad.__contains__, lambda client: client not in bad)
        ]
        found[one.round_no] = (fmean(both[0] or [0.0]), fmean(both[1] or [0.0]))
    return found


def measure(tree: Tree) -> Figures:
    """Figures of one run, from its record alone."""
    with tempfile.TemporaryDirectory() as root:
        folder = simulation.start(plan.parse(tree), Path(root))
        entries = list(record.read(folder / RECORD))
    rounds = record.select_entries(entries, record.Round)
    released = record.select_entries(entries, record.Released)
    found: Figures = {
        "bad": len(record.select_entries(entries, record.Corrupted)[0].clients),
        "rejected": count_rejected(entries, len(rounds)),
        "scores": compute_mean_scores(entries),
        "metrics": rounds[-1].metrics,
    }
    for part in ("train", "votes", "heads"):
        some = [one for one in released if one.exchange == part]
        totals = ledger.compute_totals(ledger.fold_releases(some), 1e-5)
        found[part] = totals[-1].epsilon if totals else 0.0
    return found


def load_or_measure(name: str, tree: Tree) -> Figures:
    """The stored figures of a plan, or newly measured ones."""
    digest = hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:12]
    path = OUT / f"{name}-{tree['seed']}-{digest}.json"
    if not path.exists():
        figures = measure(tree)
        OUT.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures))
    found: Figures = json.loads(path.read_text())
    return found


def describe(seed: int, found: Figures) -> str:
    """A line of the table: one seed."""
    rejected = [f"{bad}, {honest}" for bad, honest in found["rejected"]]
    worst = min(_precision_and_recall(found))
    metrics = ", ".join(f"{key} {value:.3f}" for key, value in found["metrics"].items())
    return f"| {seed} | {' | '.join(rejected)} | {worst:.3f} | {metrics} |"


def _precision_and_recall(found: Figures) -> list[float]:
    both = [(bad / found["bad"], bad / max(1, bad + good)) for bad, good in found["rejected"]]
    return [figure for pair in both for figure in pair]


def summarise(every: list[Figures]) -> str:
    """The worst rounds of all seeds, mean metrics with 95 % intervals, and privacy losses."""
    rounds = [pair for found in every for pair in found["rejected"]]
    lines = [
        f"{len(every)} seeds, {every[0]['bad']} harmful clients: at least"
        f" {min(bad for bad, _ in rounds)} rejected and at most"
        f" {max(good for _, good in rounds)} honest ones in every round; precision and recall at"
        f" least {min(min(_precision_and_recall(found)) for found in every):.3f}"
    ]
    for key in every[0]["metrics"]:
        values = [found["metrics"][key] for found in every]
        ends = confidence_interval(values)
        lines.append(
            f"{key} {fmean(values):.3f}" + (f" ± {ends[1] - fmean(values):.3f}" if ends else "")
        )
    losses = [f"{part} {_show_epsilon(every[0][part])}" for part in ("train", "votes", "heads")]
    return "\n".join([*lines, f"epsilon per run: {', '.join(losses)}"])


def _show_epsilon(epsilon: float | None) -> str:
    return "none" if epsilon is None else f"{epsilon:.2f}"


def main() -> None:
    """Measure what is missing and print the rejected clients by seed and round."""
    parser = argparse.ArgumentParser(prog="python -m bench.votes", description=__doc__)
    parser.add_argument("plan", nargs="?", type=Path, default=ROOT / "examples" / "all_five.toml")
    parser.add_argument("--seeds", default="1,2,3,4,5", help="seeds (default 1,2,3,4,5)")
    parser.add_argument("-o", "--set", action="append", default=[], metavar="TABLE.KEY=VALUE")
    parser.add_argument("--validate", action="store_true", help="evaluate on validation rows")
    asked = parser.parse_args()
    every = list[Figures]()
    for seed in map(int, asked.seeds.split(",")):
        tree = build_tree(asked.plan, asked.set, seed, asked.validate)
        every.append(load_or_measure(asked.plan.stem, tree))
        if len(every) == 1:
            rounds = range(1, len(every[0]["rejected"]) + 1)
            print("rejected harmful, honest clients by round")
            print(f"| seed | {' | '.join(map(str, rounds))} | worst | metrics |")
            print("|---" * (len(rounds) + 3) + "|")
        print(describe(seed, every[-1]), flush=True)
    print(f"\n{summarise(every)}")


if __name__ == "__main__":
    main()
