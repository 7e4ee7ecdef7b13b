"""Worker processes end with their parent, whatever ends it, and a worker's end is told in one sentence."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tacit import plan, simulation
from tacit.errors import RunError
from tacit.runs import run_folder
from tacit.simulation import Silence
from tacit.simulation.workers import children
from tests.simulation.small import small_plan, write_csv

linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells a child that its parent died"
)

BUSY = """
import os, time
from tacit.simulation.workers import children

def begin():
    os.write(1, f"{os.getpid()}\\n".encode())  # in one piece, beside the other worker's

with children.stoppable(), children.pool(2, begin) as pool:
    list(pool.map(time.sleep, [0.5] * 1000))
"""
RUN = """
import sys
from pathlib import Path
from tacit import plan, simulation

simulation.start(plan.load(Path(sys.argv[1])), Path(sys.argv[2]))
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone_within(seconds: float, pids: list[int]) -> bool:
    end = time.monotonic() + seconds
    while any(alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(alive(pid) for pid in pids)


def hear_everything() -> None:
    """Under nohup or in the background a process is born deaf to some signals, and stays so on purpose: here it shall hear."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


@linux_only
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_its_parent(number) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", BUSY],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=hear_everything,
    )
    try:
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(alive(pid) for pid in workers)
        parent.send_signal(number)
        parent.wait(timeout=60)
    finally:
        parent.kill()
    assert gone_within(5, workers)


@pytest.mark.slow
@linux_only
def test_no_worker_of_a_pytorch_run_outlives_it(tmp_path) -> None:
    pytest.importorskip("torch")
    job = small_plan(
        write_csv(tmp_path / "reviews.csv"),
        model={"name": "tests.simulation.modules:Tiny"},
        server__rounds=10_000,
        engine__workers=2,
    )
    (tmp_path / "plan.toml").write_text(plan.to_toml(job))
    parent = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path / "plan.toml"), str(tmp_path / "runs")],
        env=_with_tests(),
    )
    folder = tmp_path / "runs" / "small-1"
    end = time.monotonic() + 120
    while (
        not (folder / run_folder.RECORD).exists()
        or b'"round"' not in (folder / run_folder.RECORD).read_bytes()
    ):
        assert time.monotonic() < end
        assert parent.poll() is None
        time.sleep(0.05)
    workers = [
        int(pid)
        for pid in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
    ]
    assert len(workers) == 2
    assert run_folder.is_running(folder)
    parent.kill()
    parent.wait()
    assert gone_within(5, workers)
    assert not run_folder.is_running(folder)


def test_a_killed_worker_is_told_in_one_sentence(tmp_path) -> None:
    pytest.importorskip("torch")

    class Kills(Silence):
        def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
            for child in multiprocessing.active_children():
                os.kill(child.pid, signal.SIGKILL)

    job = small_plan(
        write_csv(tmp_path / "reviews.csv", rows=60),
        model={"name": "tests.simulation.modules:Tiny"},
        engine__workers=1,
    )
    with pytest.raises(RunError, match="a worker process ended without a result"):
        simulation.start(job, tmp_path / "runs", Kills())
    simulation.resume(tmp_path / "runs" / "small-1", allow_code=True)


def test_signals_are_answered_only_while_a_run_lasts() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with children.stoppable(), pytest.raises(children.Terminated, match="SIGTERM"):
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_ignored_signal_stays_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with children.stoppable():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def _with_tests() -> dict[str, str]:
    root = Path(__file__).parents[2]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]),
    }


@pytest.mark.parametrize(("at_once", "threads"), [(1, "4"), (2, "2"), (3, "1"), (9, "1")])
def test_processes_side_by_side_share_the_cores(monkeypatch, at_once, threads) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1, 2, 3}, raising=False)
    limits = children.thread_limits(at_once)
    assert set(limits.values()) == {threads}
    assert "OMP_NUM_THREADS" in limits
