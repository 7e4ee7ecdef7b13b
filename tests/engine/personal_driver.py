"""Run or resume a plan and die by kill -9, workers too, in the middle of a round. Usage: PLAN ROOT ROUND (0: live on)."""

import os
import signal
import sys
from pathlib import Path

from tacit import engine, plan
from tacit.engine import Silence


class DiesIn(Silence):
    def __init__(self, round_no: int) -> None:
        self.round_no = round_no

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        if round_no == self.round_no and done == 2:
            os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    path, root, watch = Path(sys.argv[1]), Path(sys.argv[2]), DiesIn(int(sys.argv[3]))
    begun = sorted(root.glob("*-1"))
    engine.resume(begun[0], watch) if begun else engine.start(plan.load(path), root, watch)
