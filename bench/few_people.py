"""What the preset `private` reaches with few people, by how texts are read: `python -m bench
few_people`.

A cell is a run of the plan that names a set, a number of people and an epsilon, and nothing else
but the form of its texts. `preset` leaves that to the plan. Each run is a file below
bench/out/few_people under the hash of all its settings, so a stop loses one run; the tables are
made of the runs that are there. 20 Newsgroups and SST-2 are complete; of AG News and IMDB 10,000
train rows and 2,000 test rows are drawn once. `--validation` measures on train rows that are held
out; settings were chosen on these, never on test rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from bench import ROOT
from tacit import data, plan, simulation
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.run_folder import RECORD

OUT = ROOT / "bench" / "out" / "few_people"
SETS = {"newsgroups20": None, "ag_news": (10_000, 2_000), "imdb": (10_000, 2_000), "sst2": None}
PEOPLE, EPSILONS = (100, 300, 1000, 5000), (1.0, 2.0, 8.0)
FORMS = ("listed", "encoder", "encoder+listed", "preset")


@dataclass(frozen=True)
class Cell:
    """A set, a number of people, an epsilon per run, and how texts are read."""

    source: str
    people: int
    epsilon: float
    form: str
    is_validation: bool = False

    def build_tree(self, seed: int) -> dict[str, Any]:
        """The plan of a run, as tables."""
        held = {"validation": 0.15} if self.is_validation else {}
        drawn = SETS[self.source] is not None
        return {
            "name": "few",
            "seed": seed,
            "baselines": [],
            "privacy": {"epsilon": self.epsilon},
            "data": {
                "source": str(draw_rows(self.source)) if drawn else self.source,
                "clients": self.people,
                **(
                    {"columns": {"text": ["text"], "label": "label", "split": "split"}}
                    if drawn
                    else {}
                ),
                **held,
            },
            **({} if self.form == "preset" else {"features": {"text": self.form}}),
        }

    def find_file(self, seed: int) -> Path:
        """The file of a run: one for each combination of settings."""
        settings = plan.dump(plan.parse(self.build_tree(seed)))
        settings["data"]["source"] = self.source
        del settings["name"], settings["engine"]
        text = json.dumps(settings, sort_keys=True, default=str)
        return OUT / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"

    def run(self, seed: int) -> dict[str, float]:
        """The metrics after the last round, found before or now."""
        path = self.find_file(seed)
        if not path.exists():
            OUT.mkdir(parents=True, exist_ok=True)
            job = plan.parse(self.build_tree(seed))
            with tempfile.TemporaryDirectory() as root:
                entries = list(record.read(simulation.start(job, Path(root)) / RECORD))
            metrics = record.select_entries(entries, record.Round)[-1].metrics
            made = {"cell": vars(self), "seed": seed, "text": job.features.text, "metrics": metrics}
            path.write_text(json.dumps(made))
        found: dict[str, float] = json.loads(path.read_text())["metrics"]
        return found


def draw_rows(name: str) -> Path:
    """A file with the drawn rows of a set."""
    sizes, path = SETS[name], OUT / f"{name}.parquet"
    if not path.exists() and sizes:
        OUT.mkdir(parents=True, exist_ok=True)
        table, random = (
            data.load(plan.Data(source=name), Draws.seeded(0).at("data")),
            np.random.default_rng(0),
        )
        halves = []
        for split, frame, most in zip(
            ("train", "test"), (table.train, table.test), sizes, strict=True
        ):
            rows = np.sort(random.permutation(frame.height)[:most])
            halves.append(
                frame[rows].select(
                    pl.col("text"), pl.col("label").cast(pl.String), pl.lit(split).alias("split")
                )
            )
        pl.concat(halves).write_parquet(path)
    return path


def summarise(values: Sequence[float]) -> str:
    """The mean in percent, with a 95 % interval of Student's t where there are several seeds."""
    if len(values) < 2:
        return f"{100 * values[0]:.1f}" if values else "–"
    half = stats.t.ppf(0.975, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return f"{100 * fmean(values):.1f} ± {100 * half:.1f}"


def print_table(source: str, cells: Sequence[Cell], seeds: Sequence[int]) -> None:
    """Print the cells of one set that have run."""
    metric = "auc" if source in ("imdb", "sst2") else "accuracy"
    forms = [*dict.fromkeys(cell.form for cell in cells)]
    print(f"\n{source}, {metric} in %\n\n| people | epsilon per run | {' | '.join(forms)} |")
    print("| --- " * (len(forms) + 2) + "|")
    for people, epsilon in dict.fromkeys((cell.people, cell.epsilon) for cell in cells):
        shown = []
        for form in forms:
            (cell,) = (
                one
                for one in cells
                if (one.people, one.epsilon, one.form) == (people, epsilon, form)
            )
            paths = [cell.find_file(seed) for seed in seeds]
            found = [json.loads(path.read_text()) for path in paths if path.exists()]
            mark = f" ({found[0]['text']})" if form == "preset" and found else ""
            shown.append(summarise([one["metrics"][metric] for one in found]) + mark)
        print(f"| {people:,} | {epsilon:g} | {' | '.join(shown)} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cells that were asked for and print a table for each set."""
    parser = argparse.ArgumentParser(prog="python -m bench few_people", description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated names")
    parser.add_argument("--people", default=",".join(map(str, PEOPLE)))
    parser.add_argument("--epsilon", default=",".join(f"{one:g}" for one in EPSILONS))
    parser.add_argument("--forms", default=",".join(FORMS), help="ways to read texts")
    parser.add_argument("--seeds", type=int, default=5, help="runs per cell, seeds 1, 2, …")
    parser.add_argument("--validation", action="store_true", help="measure on held-out train rows")
    parser.add_argument("--show", action="store_true", help="print what has run, run nothing")
    asked = parser.parse_args(arguments)
    os.environ["TACIT_ENCODER"] = "on"
    for source in asked.sets.split(","):
        cells = [
            Cell(source, int(people), float(epsilon), form, asked.validation)
            for people in asked.people.split(",")
            for epsilon in asked.epsilon.split(",")
            for form in asked.forms.split(",")
        ]
        for seed in range(1, asked.seeds + 1):
            for cell in () if asked.show else cells:
                cell.run(seed)
        print_table(source, cells, range(1, asked.seeds + 1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
