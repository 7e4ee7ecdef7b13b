"""Run a plan and die by kill -9, workers too, in the middle of each round that is named; then live on to the end.

Usage: PLAN ROOT ROUND…; prints how each life ended. Lives are forked from this process, which has imported everything and
started no thread.
"""

import json
import os
import signal
import sys
from pathlib import Path

from tacit import plan, simulation
from tacit.simulation import Silence
from tacit.training.private.learner import warm_up


class DiesIn(Silence):
    def __init__(self, round_no: int | None) -> None:
        self.round_no = round_no

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        if round_no == self.round_no and done == 2:
            os.killpg(os.getpgrp(), signal.SIGKILL)


def live(job: plan.Plan, root: Path, dies_in: int | None) -> int:
    """Return how a life ended: the number of the signal, below zero, or an exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        os.setsid()  # so that its own worker processes die with it
        begun, watch = sorted(root.glob("*-1")), DiesIn(dies_in)
        simulation.resume(begun[0], watch) if begun else simulation.start(job, root, watch)
        os._exit(0)
    except BaseException as error:
        sys.stderr.write(f"{error!r}\n")
        os._exit(1)


if __name__ == "__main__":
    warm_up()  # once, here, instead of in every life
    job, root = plan.load(Path(sys.argv[1])), Path(sys.argv[2])
    print(json.dumps([live(job, root, dies_in) for dies_in in (*map(int, sys.argv[3:]), None)]))
