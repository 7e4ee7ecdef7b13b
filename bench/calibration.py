"""Accuracy of `onebit` and `skellam` on IMDB before and after their privacy loss was bounded more
tightly.

`python -m bench.calibration --label after` runs examples/imdb_private.toml with each mechanism,
epsilon and seed. `--source` names the `src` folder of another checkout, so that the same plans run
with an older version: `--label before --source ../old/src`. Each result is stored below
bench/out/calibration; a run that was measured is not repeated. `--page` writes the table into
docs/concepts/mechanisms/calibration.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from bench import ROOT, SOURCE
from tacit.interval import confidence_interval

OUT, PAGE = (
    ROOT / "bench" / "out" / "calibration",
    ROOT / "docs" / "concepts" / "mechanisms" / "calibration.md",
)
BEGIN, END = (
    "<!-- figures: written by python -m bench.calibration --page -->",
    "<!-- end of figures -->",
)
CODECS, EPSILONS = ("onebit", "skellam", "dp_sum"), (1.0, 2.0)
LABELS = ("before", "after")

Figures = dict[str, Any]


def measure(source: Path, codec: str, epsilon: float, seed: int) -> Figures:
    """Run the plan with the `tacit` package below `source` in a process of its own."""
    settings = (f"privacy.epsilon={epsilon:g}", f"codec.name={codec}", f"seed={seed}")
    with tempfile.TemporaryDirectory() as root:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tacit",
                "run",
                str(ROOT / "examples" / "imdb_private.toml"),
                "--json",
                "--quiet",
                "--no-report",
                "--runs",
                root,
                *(word for setting in settings for word in ("-o", setting)),
            ],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdout=subprocess.PIPE,
            check=True,
            cwd=root,
        )
    told = json.loads(done.stdout)
    epsilon_of_run = [
        total["epsilon"] for total in told["privacy"]["totals"] if total["unit"] == "run"
    ]
    return {
        **told["metrics"],
        "epsilon": epsilon_of_run[-1],
        "bytes_up": told["bytes"]["up"],
        "seconds": told["seconds"],
    }


def place_of(label: str, codec: str, epsilon: float, seed: int) -> Path:
    """Where the figures of one run are stored."""
    return OUT / f"{label}-{codec}-{epsilon:g}-{seed}.json"


def measure_all(source: Path, label: str, seeds: int, codecs: Sequence[str]) -> None:
    """Measure what is missing, seed by seed."""
    OUT.mkdir(parents=True, exist_ok=True)
    for seed in range(1, seeds + 1):
        for codec in codecs:
            for epsilon in EPSILONS:
                place = place_of(label, codec, epsilon, seed)
                if not place.exists():
                    place.write_text(json.dumps(measure(source, codec, epsilon, seed)))
                    print(place.stem, place.read_text(), flush=True)


def stored(codec: str, epsilon: float) -> dict[str, list[Figures]]:
    """Figures of the seeds that were measured, by label; with both labels, of the seeds
    that have both.
    """
    found = {}
    for label in LABELS:
        places = OUT.glob(f"{label}-{codec}-{epsilon:g}-*.json")
        found[label] = {
            int(place.stem.rpartition("-")[2]): json.loads(place.read_text()) for place in places
        }
    known = [set(some) for some in found.values() if some]
    seeds = sorted(set.intersection(*known)) if known else []
    return {label: [some[seed] for seed in seeds] for label, some in found.items() if some}


def table() -> str:
    """Return what was measured as Markdown: accuracy and AUC in percent, with 95 % confidence
    intervals over seeds.

    Gains are means of differences between runs of the same seed.
    """
    rows = [
        (
            "| mechanism | epsilon per run | seeds | accuracy before | after | gain | AUC before |"
            " after | gain |"
        ),
        "|---" * 9 + "|",
    ]
    for codec in CODECS:
        for epsilon in EPSILONS:
            found = stored(codec, epsilon)
            if found:
                seeds = len(next(iter(found.values())))
                cells = [f"`{codec}`", f"{epsilon:g}", str(seeds)]
                for key in ("accuracy", "auc"):
                    sides = [[100 * one[key] for one in found.get(label, [])] for label in LABELS]
                    gains = [after - before for before, after in zip(*sides, strict=False)]
                    cells += [mean_text(values) for values in (*sides, gains)]
                rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def mean_text(values: list[float]) -> str:
    """A mean with half the width of its confidence interval."""
    ends = confidence_interval(values)
    return (f"{fmean(values):.2f}" if values else "–") + (
        f" ± {ends[1] - fmean(values):.2f}" if ends else ""
    )


def write_page() -> None:
    """Put the table into the page, between its marks."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(
        f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END, 1)[1]}", encoding="utf-8"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.calibration", description=__doc__)
    parser.add_argument(
        "--label",
        choices=LABELS,
        default="after",
        help="which accounting `--source` has (default after)",
    )
    parser.add_argument(
        "--source",
        type=Path,
        default=SOURCE,
        help="the src folder to measure (default: of this checkout)",
    )
    parser.add_argument("--seeds", type=int, default=5, help="runs per line (default 5)")
    parser.add_argument(
        "--codecs",
        default="onebit,skellam",
        help="mechanisms, separated by commas (default onebit,skellam)",
    )
    parser.add_argument(
        "--page",
        action="store_true",
        help="write the table into docs/concepts/mechanisms/calibration.md instead",
    )
    asked = parser.parse_args(arguments)
    if asked.page:
        write_page()
    else:
        measure_all(asked.source.resolve(), asked.label, asked.seeds, asked.codecs.split(","))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
