"""`python -m bench.cluster_round`: a round with 2 actors of a Ray cluster against 2 threads, in turn.

The first shape is that of `bench round`: 100 clients with 250 rows each, 506,451 parameters. The others
grow the number of clients, with logistic regression. Seconds are those of the record, without the first
round, which loads compiled code and lets actors open. Bytes are what the driver sends and receives,
against the least: the model to each actor, and one sum back. Results are stored as they come.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import ROOT
from tacit import plan as plans
from tacit import simulation
from tacit.cluster.packet import Packet
from tacit.cluster.session import connect
from tacit.runs import record, run_folder
from tacit.simulation.cluster.driver import RemoteArm

OUT = ROOT / "bench" / "out" / "cluster_round.json"
ACTORS = 2


@dataclass(frozen=True)
class Shape:
    """Clients, rows of each, words in a row, and the model."""

    clients: int
    rows: int
    words: int
    buckets: int
    model: dict[str, Any]
    rounds: int


SHAPES = {
    "bench round": Shape(100, 250, 125, 5000, {"name": "mlp", "hidden": [100, 50, 25]}, 8),
    **{
        f"{clients:,} clients": Shape(clients, 2, 10, 1000, {"name": "logistic"}, 6)
        for clients in (100, 1_000, 10_000, 100_000)
    },
}


def write_texts(path: Path, shape: Shape) -> Path:
    """Rows of random words with a label."""
    draw = np.random.default_rng(1)
    with path.open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        for _ in range(shape.clients * shape.rows + 200):
            words = draw.integers(0, 20 * shape.buckets, shape.words)
            said = "up" if (words % 3 == 0).mean() > 1 / 3 else "down"
            file.write(" ".join(map(_spell, words.tolist())) + f",{said}\n")
    return path


def _spell(number: int) -> str:
    """A word of letters: digits are not read as words."""
    return str(number).translate(_LETTERS) + "x"


_LETTERS = str.maketrans("0123456789", "abcdefghij")


def build_plan(shape: Shape, source: Path) -> plans.Plan:
    """A plan of this shape, evaluated at its end only."""
    tree = {
        "name": "round",
        "data": {
            "source": str(source),
            "clients": shape.clients,
            "test": 0.01,
            "columns": {"text": ["text"], "label": "label"},
        },
        "features": {"text": "binary", "buckets": shape.buckets},
        "model": shape.model,
        "local": {"optimizer": "adam", "lr": 0.001, "epochs": 1, "batch": 25},
        "codec": {"name": "plain"},
        "server": {"rounds": shape.rounds, "evaluate_every": shape.rounds},
    }
    return plans.parse(tree)


class ByteCount:
    """Bytes that the driver sends and receives."""

    def __init__(self) -> None:
        self.sent = self.received = 0

    def add(self, packet: Packet) -> int:
        """The bytes of a packet."""
        return len(packet.body) + sum(blob.nbytes for blob in packet.blobs)


@contextmanager
def counted() -> Iterator[ByteCount]:
    """Count the bytes of requests and sums."""
    count = ByteCount()
    arm: Any = RemoteArm
    ask, build, read = RemoteArm._ask, RemoteArm._build_question, RemoteArm._read_sum

    def asked(self: RemoteArm, *rest: Any) -> Packet:
        packet = ask(self, *rest)
        count.sent += count.add(packet)
        return packet

    def built(self: RemoteArm, *rest: Any) -> Packet:
        packet = build(self, *rest)
        count.sent += ACTORS * count.add(packet)
        return packet

    def received(self: RemoteArm, exchange: Any, actor: int, packet: Packet) -> Any:
        count.received += count.add(packet)
        return read(self, exchange, actor, packet)

    arm._ask, arm._build_question, arm._read_sum = asked, built, received
    try:
        yield count
    finally:
        arm._ask, arm._build_question, arm._read_sum = ask, build, read


def time_rounds(plan: plans.Plan, engine: plans.Engine) -> tuple[list[float], int]:
    """Seconds of the rounds after the first and before the evaluated one, and the model's size."""
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:
        place = simulation.start(replace(plan, engine=engine), Path(folder))
        entries = list(run_folder.entries(place))
    rounds = record.select_entries(entries, record.Round, record.RUN)
    (facts,) = record.select_entries(entries, record.Prepared)
    return [one.seconds for one in rounds[1:-1]], facts.parameters


def measure(shape: Shape, repeats: int) -> dict[str, Any]:
    """Run with threads and with actors in turn."""
    threads, actors = list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder, counted() as count:
        plan = build_plan(shape, write_texts(Path(folder) / "rows.csv", shape))
        size = 0
        for _ in range(repeats):
            seconds, size = time_rounds(plan, plans.Engine(workers=ACTORS))
            threads += seconds
            actors += time_rounds(plan, plans.Engine(cluster="auto"))[0]
    one, other = statistics.median(threads), statistics.median(actors)
    least = ACTORS * (4 * size + 8 * size) * shape.rounds * repeats
    return {
        "threads_seconds": round(one, 4),
        "actors_seconds": round(other, 4),
        "fastest_threads": round(min(threads), 4),
        "fastest_actors": round(min(actors), 4),
        "ratio": round(other / one, 3),
        "overhead_ms": round(1000 * (other - one), 1),
        "bytes_per_least": round((count.sent + count.received) / least, 2),
        "megabytes_per_round": round(
            (count.sent + count.received) / shape.rounds / repeats / 1e6, 2
        ),
        "parameters": size,
        "rounds": len(threads),
    }


def main() -> int:
    """Print and store a line per shape."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster_round", description=__doc__)
    parser.add_argument("shapes", nargs="*", help=f"any of: {', '.join(SHAPES)}; all by default")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--again", action="store_true", help="forget stored results")
    asked = parser.parse_args()
    stored = OUT.exists() and not asked.again
    found: dict[str, Any] = json.loads(OUT.read_text()) if stored else {}
    with connect(f"local:{ACTORS}"):
        for name in asked.shapes or SHAPES:
            if name not in found:
                found[name] = measure(SHAPES[name], asked.repeats)
                OUT.parent.mkdir(parents=True, exist_ok=True)
                OUT.write_text(json.dumps(found, indent=1) + "\n")
            print(f"{name:16} {json.dumps(found[name])}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
