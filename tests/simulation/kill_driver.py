"""Run a plan under random kill -9 until it ends; print how it went. Usage: kill_driver.py PLAN ROOT KILLS SEED LONGEST_SECONDS.

Children are forked from this process, which has imported everything and started no thread, so that a kill costs
milliseconds and most of a child's short life is the run itself.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from tacit import codecs, plan, server, simulation, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.privacy import ledger
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Sparse
from tacit.runs import checkpoint


def load_kernels(job: plan.Plan) -> None:
    """Load compiled code and libraries once, here, without reading data (its reader would start threads)."""
    inputs = Sparse(
        starts=np.arange(3), columns=np.zeros(2, np.int32), values=None, width=job.features.buckets
    )
    rows = Rows(inputs=inputs, labels=np.array([0, 1], np.int32), classes=("a", "b"))
    learner = training.build(
        job.model, job.local, rows, Clients(order=np.arange(2), starts=np.array([0, 2]))
    )
    model = learner.initial(Draws.seeded(0))
    for settings in (job.codec, plan.Plain()):
        made = codecs.build(settings)
        total, public = made.empty(learner.size), Draws.seeded(1).publish()
        row = (
            learner.worker()
            .train(model, ClientSlot(0, 0, ClientRandomness(Draws.seeded(0), 0)), Draws.seeded(0))
            .row
        )
        total.add(
            made.encode(row, {}, own=Draws.seeded(0).for_client(), public=public).payload, 1, public
        )
        ledger.compute_totals(
            ledger.charge(ledger.Account(), made.claims(learner.size, 1), 1), 1e-5
        )
    server.measure(learner.predict(model, inputs), rows.labels)
    assert simulation.start, "named, so that it is imported here and not anew by each child"


def child(job: plan.Plan, root: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    os.setsid()  # so that its own worker processes die with it
    folders = sorted(root.glob("*-1"))
    try:
        simulation.resume(folders[0]) if folders else simulation.start(job, root)
        os._exit(0)
    except BaseException as error:
        sys.stderr.write(f"{error!r}\n")
        os._exit(1)


def wait(root: Path, pid: int, random: np.random.Generator) -> None:
    """Wait for a random moment, or until the child has ended.

    One time in four it is some moment soon after the start; else some moment after a few more rounds, however slow the
    machine is.
    """
    soon = random.random() < 0.25
    end = time.monotonic() + (float(random.uniform(0.02, 0.3)) if soon else 60.0)
    rounds, written, last = int(random.integers(1, 8)), 0, _written(root)
    while time.monotonic() < end and written < rounds:
        time.sleep(0.0005)
        now = _written(root)
        written, last = written + (now != last and not soon), now
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
    time.sleep(float(random.uniform(0, 0.01)))


def _written(root: Path) -> int:
    """Return a number that changes with every checkpoint."""
    return sum(
        (folder / checkpoint.NAME).stat().st_mtime_ns
        for folder in root.glob("*-1")
        if (folder / checkpoint.NAME).exists()
    )


def main() -> None:
    job, root = plan.load(Path(sys.argv[1])), Path(sys.argv[2])
    kills, random = int(sys.argv[3]), np.random.default_rng(int(sys.argv[4]))
    load_kernels(job)
    rounds_seen: set[tuple[str, int]] = set()
    killed, done = 0, False
    while killed < kills and not done:
        pid = child(job, root)
        wait(root, pid, random)
        os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        done = os.WIFEXITED(status)
        assert not done or status == 0, status
        killed += not done
        for folder in root.glob("*-1"):
            if (folder / checkpoint.NAME).exists():
                place = checkpoint.read(folder).progress
                rounds_seen.add((place.arm, place.round_no))
    while not done:
        _, status = os.waitpid(child(job, root), 0)
        done = status == 0
        assert done, status
    print(
        json.dumps(
            {"folder": str(next(root.glob("*-1"))), "kills": killed, "places": len(rounds_seen)}
        )
    )


main()
