"""A server, three sites and a run on this machine, each in a process that can be killed and started
again.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench import ROOT, SOURCE
from bench.faults.dying import ARRIVED, DIE
from tacit import plan as plans
from tacit.deployment.server import job
from tacit.errors import PeerError
from tacit.plan import Plan
from tacit.simulation.rehearsal import Rehearsal, prepare_rehearsal

ASK_AGAIN = 10
_START_SECONDS = 120.0


def small_plan(folder: Path, rounds: int) -> Plan:
    """A plan over 400 made-up reviews of 20 clients."""
    random, lines = np.random.default_rng(0), ["who,opinion,stars"]
    for number in range(400):
        label = int(random.integers(0, 2))
        words = [
            *random.choice(["the", "film", "was", "a", "story"], 6),
            *random.choice([["bad", "dull"], ["good", "fine"]][label], 2),
        ]
        lines.append(f'person{number % 20},"{" ".join(words)}",{"up" if label else "down"}')
    source = folder / "reviews.csv"
    source.write_text("\n".join(lines) + "\n")
    return plans.parse(
        {
            "name": "faults",
            "seed": 3,
            "data": {
                "source": str(source),
                "clients": 20,
                "columns": {"text": ["opinion"], "label": "stars"},
            },
            "features": {"buckets": 300},
            "model": {"name": "mlp", "hidden": [8]},
            "local": {"lr": 0.01, "epochs": 1, "batch": 8},
            "codec": {"name": "rr", "epsilon": 2, "clip": 0.02},
            "server": {"rounds": rounds},
        }
    )


@dataclass
class Mortal:
    """A command in a process of its own, that can be killed, or told where to die, and started
    again.
    """

    words: list[str]
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{SOURCE}"}
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.words], stdout=log, stderr=log, env=environment
            )

    @property
    def code(self) -> int | None:
        """How it ended; None if it runs."""
        return self.process.poll() if self.process else 0

    def kill(self) -> None:
        """Kill it with SIGKILL, and wait until it is gone."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def tell(self, point: str) -> None:
        """Tell it to die at a point."""
        fresh = self.folder / f"{DIE}.new"
        fresh.write_text(point)
        fresh.replace(self.folder / DIE)

    def died_there(self, seconds: float, going_on: Callable[[], bool]) -> bool:
        """Whether it dies at its point within some time; if not, let it live."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and going_on() and self.code is None:
            time.sleep(0.05)
        (self.folder / DIE).unlink(missing_ok=True)
        return self.code == -signal.SIGKILL


@dataclass
class Field:
    """Everything that runs, and the folder it lies in."""

    folder: Path
    ready: Rehearsal
    link: Mortal
    sites: dict[str, Mortal] = field(default_factory=dict)

    def begin_run(self) -> tuple[Path, Mortal]:
        """Folder of a new run with the simulation's noise, and the process that makes
        it, not yet started.
        """
        runs, ready = self.folder / "runs", self.ready
        test = str(ready.test.resolve())
        place = job.prepare(
            ready.plan, runs, test=test, simulated_noise=True, identity=ready.identity
        )
        own = self.folder / "deploys" / place.name
        own.mkdir(parents=True)
        words = [
            "deploy",
            "run",
            "--resume",
            place.name,
            "--runs",
            str(runs),
            "--folder",
            str(self.folder / "server"),
            "--quiet",
        ]
        words += [
            "--no-report",
            "--min-sites",
            "3",
            "--retry-after",
            str(ASK_AGAIN),
            "--deadline",
            "300",
        ]
        return place, Mortal(["-m", "bench.faults.dying", str(own), *words], own)

    def link_is_up(self) -> bool:
        """Whether the server that was started last has said where it listens."""
        from tacit.deployment.transport.server.endpoint import read_endpoint

        try:
            return (
                self.link.process is not None
                and read_endpoint(self.link.folder).pid == self.link.process.pid
            )
        except PeerError:
            return False


@contextmanager
def started(folder: Path, plan: Plan) -> Iterator[Field]:
    """Yield a field whose server and sites run; all of it ends with the block."""
    from tacit.cli.deploy.rehearse import _create_sites
    from tacit.cli.server.start import make_certificates
    from tacit.deployment.transport.server.registry import register

    server, port = folder / "server", _free_port()
    make_certificates(server, [])
    ready = prepare_rehearsal(plan, folder / "rows", 3)
    link = Mortal(["-m", "tacit", "server", "start", str(server), "--port", str(port)], server)
    here = Field(folder, ready, link)
    try:
        link.start()
        until(here.link_is_up, "the server is up")
        for place, public in _create_sites(folder, ready, f"127.0.0.1:{port}", server):
            register(server, place.name, public)
            here.sites[place.name] = Mortal(
                ["-m", "bench.faults.dying", str(place), "site", "join", str(place)], place
            )
            here.sites[place.name].start()
        yield here
    finally:
        for one in (*here.sites.values(), link):
            one.kill()


def until(happened: Callable[[], object], what: str) -> None:
    """Wait until something has happened."""
    end = time.monotonic() + _START_SECONDS
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError(f"it took more than {_START_SECONDS:g} s until {what}")
        time.sleep(0.1)


def arrived(deploy: Mortal) -> Path:
    """File of what has reached the server."""
    return deploy.folder / ARRIVED


def _free_port() -> int:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return int(line.getsockname()[1])
