"""`python -m bench.cluster_kills`: random kills of actors, nodes and drivers of runs on two nodes.

Each run is a `tacit run --cluster` of its own, resumed when its driver was killed. Its model must be that
of two threads, and its record must verify. Kills come at random moments after the first round. Results
are stored after each run, so a stopped measurement continues.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import ROOT
from bench.carriers import build_plan, write_rows
from bench.cluster import TwoNodes, run_plan
from tacit import plan as plans
from tacit.cluster.session import require_token
from tacit.runs import checkpoint

OUT = ROOT / "bench" / "out" / "cluster_kills.json"
PLANS = ("plain", "rr", "private tables", "hashcomb", "votes")
KINDS = ("actor", "node", "driver")
_LONGEST = 900.0


def find_actors(raylets: set[int]) -> list[int]:
    """The actors whose parents are our own nodes."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if (path / "cmdline").read_bytes().startswith(b"ray::Actor"):
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                if parent in raylets:
                    found.append(int(path.name))
    return found


@dataclass
class Trial:
    """One run under kills."""

    plan: plans.Plan
    place: Path
    nodes: TwoNodes
    draw: np.random.Generator
    kills: Counter[str] = field(default_factory=Counter)

    def run(self, wanted: int) -> str:
        """Kill things until enough are killed or the run has ended; return the model's hash."""
        path = self.place / "plan.toml"
        path.write_text(plans.to_toml(self.plan), encoding="utf-8")
        driver, began = self._start(path), time.monotonic()
        while driver.poll() is None or driver.returncode:
            if time.monotonic() - began > _LONGEST:
                driver.kill()
                raise TimeoutError(f"{self.place}: no end after {_LONGEST:g} seconds")
            if driver.poll() is not None:
                if driver.returncode != -signal.SIGKILL:
                    raise RuntimeError(driver.stderr.read() if driver.stderr else "")
                driver = self._start(path)
            if self._has_begun() and self.kills.total() < wanted:
                time.sleep(float(self.draw.uniform(0, 3)))
                self._kill(driver)
            time.sleep(0.2)
        (folder,) = (self.place / "runs").iterdir()
        command = [sys.executable, "-m", "tacit", "runs", "verify", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
        return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()

    def _start(self, path: Path) -> subprocess.Popen[str]:
        root = self.place / "runs"
        begun = next(root.iterdir(), None) if root.exists() else None
        words = ["resume", str(begun)] if begun else ["run", str(path), "--runs", str(root)]
        options = ("--cluster", self.nodes.address, "--quiet", "--no-report")
        return subprocess.Popen(
            [sys.executable, "-m", "tacit", *words, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _has_begun(self) -> bool:
        return any((self.place / "runs").glob(f"*/{checkpoint.NAME}"))

    def _kill(self, driver: subprocess.Popen[str]) -> None:
        kind = KINDS[int(self.draw.integers(len(KINDS)))]
        if driver.poll() is not None:
            return
        if kind == "driver":
            driver.kill()
            driver.wait()
        elif kind == "node":
            self.nodes.kill()
            self.nodes.restore()
        else:
            actors = find_actors(self.nodes.list_raylets())
            if not actors:
                return
            os.kill(actors[int(self.draw.integers(len(actors)))], signal.SIGKILL)
        self.kills[kind] += 1


def main() -> int:
    """Print a line per run; 1 if a model differs."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster_kills", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--kills", type=int, default=3, help="kills per run, if it lasts that long")
    parser.add_argument("--rounds", type=int, default=12)
    asked = parser.parse_args()
    found: list[dict[str, Any]] = json.loads(OUT.read_text()) if OUT.exists() else []
    expected: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as scratch:
        source = write_rows(Path(scratch) / "rows.csv")
        for number in range(len(found), asked.runs):
            name = PLANS[number % len(PLANS)]
            plan = build_plan(name, source)
            plan = replace(plan, server=replace(plan.server, rounds=asked.rounds))
            expected[name] = expected.get(name) or run_plan(plan)["sha256"]
            require_token("local:2")
            nodes = TwoNodes(1)
            try:
                place = Path(scratch) / str(number)
                place.mkdir()
                trial = Trial(plan, place, nodes, np.random.default_rng(number))
                model = trial.run(asked.kills)
            finally:
                nodes.close()
            same = model == expected[name]
            found.append({"plan": name, "same": same, "kills": dict(trial.kills)})
            OUT.parent.mkdir(parents=True, exist_ok=True)
            OUT.write_text(json.dumps(found, indent=1) + "\n")
            print(
                f"{number:3} {name:16} {'same' if same else 'DIFFERENT'} {dict(trial.kills)}",
                flush=True,
            )
    total: Counter[str] = Counter()
    for one in found:
        total.update(one["kills"])
    print(
        f"{len(found)} runs, {total.total()} kills: {dict(total)}; {sum(one['same'] for one in found)} same"
    )
    return int(not all(one["same"] for one in found))


if __name__ == "__main__":
    sys.exit(main())
