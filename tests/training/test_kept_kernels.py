"""The first process on a machine, which has nothing compiled yet, trains to the same bits as every later one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import hashlib
import numpy as np
from tacit import plan, training
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Sparse
from tacit.client import ClientRandomness, ClientSlot

random = np.random.default_rng(0)
inputs = Sparse(starts=np.arange(0, 24001, 40), columns=random.integers(0, 2000, 24000).astype(np.int32), values=None, width=2000)
rows = Rows(inputs=inputs, labels=random.integers(0, 20, 600).astype(np.int32), classes=tuple("abcdefghijklmnopqrst"))
clients = Clients(order=np.arange(600), starts=np.array([0, 600]))
learner = training.build(plan.Logistic(), plan.Local(lr=0.01, epochs=5, batch=22), rows, clients)
root = Draws.seeded(0)
print(hashlib.sha256(learner.worker().train(learner.initial(root), ClientSlot(0, 0, ClientRandomness(root, 0)), root).row.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_the_first_process_ends_in_the_same_bits_as_the_second(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(part for part in sys.path if part),
    }
    ends = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in "12"
    ]
    assert ends[0].stdout == ends[1].stdout != ""
    assert list(tmp_path.rglob("*.kept"))
