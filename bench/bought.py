"""Accuracy with features that are bought, against features that are read in the clear.

`python -m bench.bought --seeds 1,2,3,4,5` runs Adult, Cardio and Spambase at epsilon 8 per run both
ways, on held-out test rows. Each result is stored in bench/out/bought.json; a run that was measured
is not repeated. `--table` prints what is stored.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from bench import ROOT
from tacit import plan, report, simulation
from tacit.interval import confidence_interval
from tacit.runs import run_folder

OUT = ROOT / "bench" / "out" / "bought.json"
SETS: dict[str, dict[str, Any]] = {
    "spambase": {"clients": 3680},
    "cardio": {"clients": 5000, "limit": 10_000},
    "adult": {"clients": 5000, "limit": 10_000},
}


def measure(source: str, fit: str, seed: int) -> dict[str, Any]:
    """Run one set; accuracy in percent, epsilon per run, and what was read in the clear."""
    tree = {
        "name": source,
        "seed": seed,
        "privacy": {"epsilon": 8.0},
        "data": {"source": source, **SETS[source]},
        "features": {"fit": fit},
        "server": {"evaluate_every": 200},
    }
    with tempfile.TemporaryDirectory() as root:
        place = simulation.start(plan.parse(tree), Path(root))
        found = report.summarise(list(run_folder.entries(place)))
    ours, total = found.arm("run"), found.privacy.total("run")
    assert ours is not None
    assert total is not None
    return {
        "accuracy": 100 * ours.metrics["accuracy"],
        "epsilon": total.epsilon,
        "clear": [one for one in found.privacy.unprotected if "in the clear" in one],
    }


def main() -> None:
    """Measure what is missing, or print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.bought", description=__doc__)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    kept: dict[str, Any] = json.loads(OUT.read_text()) if OUT.exists() else {}
    if not asked.table:
        for seed in map(int, asked.seeds.split(",")):
            for source in asked.sets.split(","):
                for fit in ("private", "clear"):
                    key = f"{source} {fit} {seed}"
                    if key not in kept:
                        kept[key] = measure(source, fit, seed)
                        OUT.parent.mkdir(parents=True, exist_ok=True)
                        OUT.write_text(json.dumps(kept, indent=1))
    for source in SETS:
        for fit in ("private", "clear"):
            some = [value for key, value in kept.items() if key.startswith(f"{source} {fit} ")]
            if some:
                values = [one["accuracy"] for one in some]
                mean = sum(values) / len(values)
                half = confidence_interval(values) if len(values) > 1 else None
                largest = max(one["epsilon"] for one in some)
                clear = sum(map(len, (one["clear"] for one in some)))
                print(
                    f"{source:9} {fit:8} {mean:.2f} {half} n={len(values)} epsilon {largest:.4f} per run, {clear} in the clear"
                )


if __name__ == "__main__":
    main()
