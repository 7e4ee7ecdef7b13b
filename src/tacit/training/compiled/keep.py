"""Compile the kernels once, in a separate process, and load them from the disk cache everywhere
else.

A process that runs freshly compiled kernels rounds some sums differently from one that loads them
from disk. If the first run compiled them itself, its model would differ from that of the second run
in the last bits.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numba
import numpy as np
from llvmlite import binding

_LONGEST_SECONDS = 600
_COMPILING = "TACIT_COMPILING_KERNELS"


@cache
def keep_kernels() -> None:
    """Make sure that compiled kernels of the current sources are in the disk cache.

    If the cache cannot be written, this process compiles them itself.
    """
    if os.environ.get(_COMPILING):
        return
    from tacit.training.compiled import kernels

    folder = Path(str(kernels.train_clients.stats.cache_path))
    mark = folder / f"kernels-{_fingerprint()}.kept"
    with contextlib.suppress(OSError, subprocess.TimeoutExpired), _lock_folder(folder):
        if not mark.exists():
            # The cache notices changes of a kernel's own file, but not of functions that it calls
            # from other files.
            for stale in (
                *folder.glob("*.nbi"),
                *folder.glob("*.nbc"),
                *folder.glob("kernels-*.kept"),
            ):
                stale.unlink()
            command = [
                sys.executable,
                "-P",
                "-c",
                "from tacit.training.compiled.keep import compile_kernels; compile_kernels()",
            ]
            path = os.pathsep.join(part for part in sys.path if part)
            environment = {**os.environ, _COMPILING: "1", "PYTHONPATH": path}
            done = subprocess.run(
                command, env=environment, capture_output=True, timeout=_LONGEST_SECONDS, check=False
            )
            if done.returncode == 0:
                mark.touch()


def compile_kernels() -> None:
    """Compile every kernel by training and predicting on two rows, with mini-batches and with
    full-batch steps.
    """
    from tacit import plan
    from tacit.client import ClientRandomness, ClientSlot
    from tacit.randomness import Draws
    from tacit.rows import Clients, Dense, Rows, Sparse
    from tacit.training.compiled.full_batch import FEWEST_STEPS
    from tacit.training.compiled.learner import CompiledLearner

    sparse = Sparse(starts=np.arange(3), columns=np.arange(2, dtype=np.int32), values=None, width=9)
    dense = Dense(matrix=np.eye(2, dtype=np.float32), width=2)
    for inputs, settings in ((sparse, plan.Local()), (dense, plan.Local(epochs=FEWEST_STEPS))):
        rows = Rows(inputs=inputs, labels=np.array([0, 1], np.int32), classes=("a", "b"))
        learner = CompiledLearner(
            plan.Logistic(), settings, rows, Clients(order=np.arange(2), starts=np.array([0, 2]))
        )
        model, root = learner.initial(Draws.seeded(0)), Draws.seeded(0)
        model = (
            model
            + learner.worker().train(model, ClientSlot(0, 0, ClientRandomness(root, 0)), root).row
        )
        learner.predict(model, inputs)


def _fingerprint() -> str:
    """Return a hash of everything that determines the machine code: sources, compiler, processor."""
    here = Path(__file__).parent
    sources = [*sorted(here.glob("*.py")), here.parent / "schedule.py"]
    digest = hashlib.sha256(
        f"{numba.__version__} {binding.get_host_cpu_name()} {sys.version}".encode()
    )
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:20]


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock the kernel cache, so that two processes do not compile into it at once."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "kernels.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
