"""`python -m bench.cluster`: ten plans, each on one machine and on Ray clusters, must end in one model.

Each plan runs with 1 and 2 threads, on 1, 2 and 4 actors of this machine, on two nodes of this machine,
and on two nodes of which one is killed in round 2. The hashes of the models are compared. Results are
stored as they come, so a stopped measurement continues; `--again` measures anew.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import ROOT
from bench.carriers import build_plan, write_rows
from tacit import plan as plans
from tacit import simulation
from tacit.cluster.session import connect
from tacit.errors import TacitError

ALL_FIVE = "all five"
PLANS = (
    "plain",
    "rr",
    "rr_sampled",
    "hashcomb",
    "rqm",
    "private tables",
    "shared rows",
    "votes",
    "rr, secure sum, drop-outs",
    ALL_FIVE,
)
SETTINGS = (
    "1 thread",
    "2 threads",
    "1 actor",
    "2 actors",
    "4 actors",
    "2 nodes",
    "node killed",
)
OUT = ROOT / "bench" / "out" / "cluster.json"
_SHORT = ("server.rounds=3", "server.evaluate_every=1", "data.limit=6000", "data.clients=40")
KILLED_IN = 2


class Kills(simulation.Silence):
    """Calls `kill` once, in the middle of a round."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self._kill: Callable[[], None] | None = kill

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Kill when the first clients of the round are done."""
        if round_no == KILLED_IN and self._kill is not None:
            kill, self._kill = self._kill, None
            kill()


def load_plan(name: str, source: Path) -> plans.Plan:
    """One of the ten plans."""
    if name == ALL_FIVE:
        path = ROOT / "examples" / "all_five.toml"
        return replace(plans.load(path, list(_SHORT)), baselines=())
    return build_plan(name, source)


def run_plan(plan: plans.Plan, observer: simulation.Observer | None = None) -> dict[str, Any]:
    """Run a plan; its model's hash and its seconds, or why there is none."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
        try:
            place = simulation.start(plan, Path(folder), observer)
        except TacitError as error:
            return {"missing": str(error)[:200]}
        digest = hashlib.sha256((place / "model.safetensors").read_bytes()).hexdigest()
    return {"sha256": digest, "seconds": round(time.perf_counter() - begun, 2)}


class TwoNodes:
    """A cluster of two nodes on this machine, the second of which can be killed and started again."""

    def __init__(self, cores: int) -> None:
        from ray.cluster_utils import Cluster

        self._node: dict[str, Any] = {"num_cpus": cores, "object_store_memory": 200 << 20}
        self._cluster: Any = Cluster(initialize_head=True, head_node_args=self._node)
        self.address: str = self._cluster.address
        self._second = self._cluster.add_node(**self._node)

    def kill(self) -> None:
        """Kill the second node, with its actors, without a word to the others."""
        self._cluster.remove_node(self._second, allow_graceful=False)

    def restore(self) -> None:
        """Start a second node again."""
        self._second = self._cluster.add_node(**self._node)

    def list_raylets(self) -> set[int]:
        """The processes that are the parents of the nodes' actors."""
        nodes = [self._cluster.head_node, self._second]
        return {one.process.pid for node in nodes for one in node.all_processes["raylet"]}

    def close(self) -> None:
        """End both nodes."""
        self._cluster.shutdown()


@contextlib.contextmanager
def two_nodes(cores: int = 1) -> Iterator[TwoNodes]:
    """Yield two nodes to which this process is attached."""
    from tacit.cluster.session import require_token

    require_token("local:2")
    made = TwoNodes(cores)
    try:
        with connect(made.address):
            yield made
    finally:
        made.close()


class Table:
    """Results by plan and setting, stored after each."""

    def __init__(self, path: Path, *, again: bool) -> None:
        self.path = path
        stored = path.exists() and not again
        self.found: dict[str, dict[str, Any]] = json.loads(path.read_text()) if stored else {}

    def has(self, name: str, setting: str) -> bool:
        """Whether a result is there."""
        return "sha256" in self.found.get(name, {}).get(setting, {})

    def put(self, name: str, setting: str, result: dict[str, Any]) -> None:
        """Store a result and print it."""
        self.found.setdefault(name, {})[setting] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.found, indent=1) + "\n")
        what = result.get("sha256", "not run: " + result.get("missing", ""))[:60]
        print(f"{name:28} {setting:12} {what[:16]} {result.get('seconds', '')}", flush=True)

    def list_hashes(self, name: str) -> set[str]:
        """The different models of a plan."""
        return {one["sha256"] for one in self.found.get(name, {}).values() if "sha256" in one}


def measure(table: Table, names: list[str], settings: list[str], source: Path) -> None:
    """Fill the table; what runs without Ray comes first, since a process attached to it is not
    forked.
    """
    for setting in settings:
        left = [name for name in names if not table.has(name, setting)]
        if not left:
            continue
        with start(setting) as (engine, nodes):
            for name in left:
                plan = replace(load_plan(name, source), engine=engine)
                if setting != "node killed":
                    table.put(name, setting, run_plan(plan))
                    continue
                assert nodes is not None
                table.put(name, setting, run_plan(plan, Kills(nodes.kill)))
                nodes.restore()


@contextlib.contextmanager
def start(setting: str) -> Iterator[tuple[plans.Engine, TwoNodes | None]]:
    """Yield the engine of a setting."""
    count, kind = setting.split()[0], setting.split()[1]
    if kind.startswith("thread"):
        yield plans.Engine(workers=int(count)), None
    elif kind.startswith("actor"):
        with connect(f"local:{count}"):
            yield plans.Engine(cluster="auto"), None
    else:
        with two_nodes() as nodes:
            yield plans.Engine(cluster="auto"), nodes


def main() -> int:
    """Print the table; 1 if a plan ends in two models."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("plans", nargs="*", help=f"any of: {', '.join(PLANS)}; all by default")
    parser.add_argument("--settings", default=",".join(SETTINGS), help="names, with commas")
    parser.add_argument("--again", action="store_true", help="forget stored results")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    table, names = Table(asked.out, again=asked.again), asked.plans or list(PLANS)
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
        source = write_rows(Path(folder) / "rows.csv")
        measure(table, names, asked.settings.split(","), source)
    different = [name for name in names if len(table.list_hashes(name)) > 1]
    for name in names:
        count = sum("sha256" in one for one in table.found.get(name, {}).values())
        state = "DIFFERENT" if name in different else "one hash" if count else "not run"
        print(f"{name:28} {state} over {count} settings")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
