"""`python -m bench.latency`: a round of three idle sites, ours next to Flower's own quickstart
round, on the same machine.

Flower's app is its quickstart in numpy: FedAvg, which trains and evaluates in each round, on a
SuperLink and three SuperNodes. Ours is a plan with a small model over `tacit deploy rehearse`, with TLS,
signatures, policies and ledgers. Both have hardly anything to compute. The two alternate; the
figure is the median round without each run's first.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.carriers import build_plan, write_rows
from tacit import simulation
from tacit.cli.deploy.rehearse import deploy_between, start_sites
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import prepare_rehearsal

_APP = """
import time
import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

client = ClientApp()

@client.train()
def train(msg: Message, context: Context) -> Message:
    arrays = msg.content["arrays"]
    return Message(RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 1})}), reply_to=msg)

@client.evaluate()
def evaluate(msg: Message, context: Context) -> Message:
    return Message(RecordDict({"metrics": MetricRecord({"num-examples": 1, "loss": 0.5})}), reply_to=msg)

server = ServerApp()

def said(round_no, arrays):
    print(f"ROUND {round_no} {time.time()}", flush=True)
    with open(OUT, "a") as file:
        file.write(f"{time.time()}\\n")

@server.main()
def main(grid: Grid, context: Context) -> None:
    FedAvg(min_available_nodes=3).start(
        grid=grid, initial_arrays=ArrayRecord([np.zeros(300, np.float32)]), num_rounds=ROUNDS, evaluate_fn=said
    )
"""
_PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "quickstart"
version = "1.0.0"
license = "Apache-2.0"
dependencies = []
[tool.hatch.build.targets.wheel]
packages = ["."]
[tool.flwr.app]
publisher = "bench"
[tool.flwr.app.components]
serverapp = "quickstart.app:server"
clientapp = "quickstart.app:client"
[tool.flwr.app.config]
"""


def ours(folder: Path, rounds: int) -> list[float]:
    """Seconds of our rounds."""
    plan = build_plan("rr", write_rows(folder / "rows.csv", 60))
    plan = replace(
        plan,
        data=replace(plan.data, clients=3),
        server=replace(plan.server, rounds=rounds, evaluate_every=rounds),
    )
    ready = prepare_rehearsal(plan, folder / "rows", 3)
    with start_sites(folder, ready) as server:
        place = deploy_between(
            server, ready, folder / "runs", simulation.Silence(), same_noise=False
        )
    return [
        one.seconds
        for one in record.select_entries(list(record.read(place / RECORD)), record.Round)
    ]


def theirs(folder: Path, rounds: int) -> list[float]:
    """Seconds of Flower's rounds."""
    app, out = folder / "app", folder / "times"
    (app / "quickstart").mkdir(parents=True)
    (app / "pyproject.toml").write_text(_PROJECT)
    (app / "quickstart" / "__init__.py").write_text("")
    (app / "quickstart" / "app.py").write_text(f"OUT, ROUNDS = {str(out)!r}, {rounds}\n{_APP}")
    port = _free_port()
    home = folder / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    )
    env = {
        **os.environ,
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    with contextlib.ExitStack() as stack:
        link = [
            "flower-superlink",
            "--insecure",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--database",
            str(folder / "state.db"),
        ]
        stack.enter_context(
            _running([*link, "--disable-runtime-dependency-installation"], env, folder / "link.log")
        )
        _wait(port)
        for number in range(3):
            node = [
                "flower-supernode",
                "--insecure",
                "--superlink",
                f"127.0.0.1:{port}",
                "--port",
                str(_free_port()),
            ]
            stack.enter_context(_running(node, env, folder / f"node-{number}.log"))
        subprocess.run(["flwr", "run", str(app), "here"], env=env, check=True, capture_output=True)
        end = time.monotonic() + 60 + 60 * rounds
        while time.monotonic() < end and (
            not out.exists() or len(out.read_text().split()) < rounds + 1
        ):
            time.sleep(0.5)
    times = [float(word) for word in out.read_text().split()]
    return [after - before for before, after in itertools.pairwise(times)]


@contextlib.contextmanager
def _running(command: list[str], env: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("w") as file:
        process = subprocess.Popen(
            command, env=env, stdout=file, stderr=file, start_new_session=True
        )
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 15)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(port: int) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise RuntimeError("Flower's SuperLink did not start")


def main() -> None:
    """Measure both in turn, and print medians and their ratio."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.latency", description=re.sub(r"\s+", " ", __doc__ or "")
    )
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    found: dict[str, list[float]] = {"ours": [], "flower": []}
    for _ in range(asked.repeats):
        for name, side in (("ours", ours), ("flower", theirs)):
            folder = Path(tempfile.mkdtemp(prefix=f"tacit-latency-{name}-"))
            try:
                found[name] += side(folder, asked.rounds)[1:]
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    medians = {name: statistics.median(times) for name, times in found.items()}
    print(
        json.dumps(
            {"rounds": found, "median": medians, "ratio": medians["ours"] / medians["flower"]},
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
