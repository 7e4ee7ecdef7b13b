"""Worker processes that never outlive their parent, and a parent that ends them whatever stops it."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import FrameType

from tacit.errors import RunError

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG in <linux/prctl.h>
_STOPPING = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """The process was asked to end; like Ctrl-C, this leaves a run that can be resumed."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into `Terminated` for a while, so that worker processes are ended and files closed.

    A signal that somebody else already answers or ignores (as nohup does) is left to them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in _STOPPING if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Terminated(signal.Signals(number).name)


@contextmanager
def pool(workers: int, begin: Callable[[], None]) -> Iterator[ProcessPoolExecutor]:
    """Yield forked worker processes, each of which calls `begin` first; none is left when the block ends.

    A worker that dies is told as a RunError. If the block is left by an error, workers are ended in the middle of their
    work.
    """
    earlier = set(multiprocessing.active_children())
    context = multiprocessing.get_context("fork")
    made = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(os.getpid(), begin))
    try:
        yield made
    except BaseException as error:
        for child in set(multiprocessing.active_children()) - earlier:
            child.kill()
        made.shutdown(wait=False, cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            raise RunError(
                "a worker process ended without an answer: it was killed, or the machine ran out of memory; "
                "nothing is lost, so resume the run, with a smaller engine.workers if memory is short"
            ) from None
        raise
    made.shutdown()


def _begin(parent: int, begin: Callable[[], None]) -> None:
    """Bind a worker's life to its parent's, then begin."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    for number in _STOPPING:
        with contextlib.suppress(ValueError):
            signal.signal(number, signal.SIG_DFL)
    begin()
