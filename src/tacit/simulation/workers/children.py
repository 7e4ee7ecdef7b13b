"""Worker processes that never outlive their parent, which ends them however it stops."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import FrameType

from tacit.errors import RunError

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG in <linux/prctl.h>
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in <malloc.h>
_STOPPING = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """The process received a signal to end; as with Ctrl-C, the run can be resumed."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into `Terminated` temporarily, so that worker processes are ended and
    files closed.

    A signal that is already handled or ignored (as by nohup) keeps its handler.
    """
    with _handle_signals(
        _terminate, [number for number in _STOPPING if signal.getsignal(number) is signal.SIG_DFL]
    ):
        yield


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated(signal.Signals(number).name)


@contextmanager
def _handle_signals(
    answer: Callable[[int, FrameType | None], None], numbers: Iterable[signal.Signals]
) -> Iterator[None]:
    """Install a signal handler temporarily. Only the main thread can do this; in other threads
    nothing changes.
    """
    ours = (
        [number for number in numbers if signal.getsignal(number) is not None]
        if _in_main_thread()
        else []
    )
    earlier = {number: signal.signal(number, answer) for number in ours}
    try:
        yield
    finally:
        for number, before in earlier.items():
            signal.signal(number, before)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def pool(workers: int, begin: Callable[[], None]) -> Iterator[ProcessPoolExecutor]:
    """Yield forked worker processes, each of which calls `begin` first; all have ended when the
    block ends.

    If a worker dies, RunError is raised. If an error leaves the block, workers are killed in the
    middle of their work.
    """
    earlier = set(multiprocessing.active_children())
    context = multiprocessing.get_context("fork")
    made = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(os.getpid(), begin)
    )
    try:
        _fork(made)
        yield made
    except BaseException as error:
        for child in set(multiprocessing.active_children()) - earlier:
            child.kill()
        made.shutdown(wait=False, cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            raise RunError(
                "a worker process ended without a result: it was killed, or the machine ran out of"
                " memory; nothing is lost, so resume the run, with a smaller engine.workers if"
                " memory is short"
            ) from None
        raise
    made.shutdown()


def _fork(pool: ProcessPoolExecutor) -> None:
    """Start all workers now. Signals are raised afterwards: an exception in the middle of a fork
    would be lost.
    """
    waiting: list[int] = []
    with _handle_signals(lambda number, frame: waiting.append(number), (signal.SIGINT, *_STOPPING)):
        pool.submit(int)
    for number in waiting:
        signal.raise_signal(number)


def thread_limits(at_once: int) -> dict[str, str]:
    """Environment variables that limit the threads of libraries, so that `at_once` processes fit on
    this machine.
    """
    share = (
        str(max(1, len(os.sched_getaffinity(0)) // at_once))
        if hasattr(os, "sched_getaffinity")
        else "1"
    )
    return dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), share)


def end_with(parent: int) -> None:
    """End this process with its parent, and leave Ctrl-C to the parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _begin(parent: int, begin: Callable[[], None]) -> None:
    """Bind a worker to its parent, then call `begin`."""
    end_with(parent)
    for number in _STOPPING:
        with contextlib.suppress(ValueError):
            signal.signal(number, signal.SIG_DFL)
    _keep_freed_memory()
    begin()


def _keep_freed_memory() -> None:
    """Keep freed memory in this process: every local step frees tens of megabytes and allocates
    them again.
    """
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):  # musl has no mallopt
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 25)  # the most the GNU library takes
        ctypes.CDLL(None).mallopt(_TRIM_THRESHOLD, 1 << 30)
