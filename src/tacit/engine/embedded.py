"""Many clients on one machine: workers sum their own clients, and only sums travel.

A cohort is cut into shares that depend on the cohort alone, never on the number of workers. Each share is summed client
by client, and shares are merged in order, so floating-point sums come out the same to the bit with any number of
workers. At most a few shares are in the air, so memory does not grow with the cohort.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import aggregate, wire
from tacit.aggregate import Sum
from tacit.engine import children
from tacit.engine.round import Terms, receive, update_message
from tacit.local import Learner, Worker
from tacit.local.compiled.blas import one_thread
from tacit.rows import Vector

_SHARES = 16
"""A cohort is cut into about this many shares: enough to keep any number of cores busy, few enough to merge cheaply."""


@dataclass(frozen=True)
class Share:
    """The sum of one share of a cohort, and the bytes its messages had."""

    total: Sum
    bytes_up: int
    clients: int


Work = Callable[[Vector, int, NDArray[np.int64], NDArray[np.int64]], "Future[Share]"]


def sum_share(
    terms: Terms, worker: Worker, model: Vector, round_no: int, clients: NDArray[np.int64], weights: NDArray[np.int64]
) -> Share:
    """Run both halves for some clients, one after the other."""
    total = aggregate.empty(terms.codec.adds_as, terms.dim)
    bytes_up = 0
    updates = worker.train_each(model, clients, terms.draws.at(round_no), round_no)
    for client, weight, update in zip(clients.tolist(), weights.tolist(), updates, strict=True):
        pieces = update_message(terms, update, round_no, client, weight)
        bytes_up += wire.size(pieces)
        receive(terms, total, pieces, round_no, update.touched if terms.codec.adds_as == "floats" else None)
    return Share(total, bytes_up, len(clients))


def sum_cohort(
    work: Work, terms: Terms, model: Vector, round_no: int, cohort: NDArray[np.int64], weights: NDArray[np.int64],
    workers: int, tick: Callable[[int], None],
) -> Share:  # fmt: skip
    """Return the sum over a whole cohort; `tick` hears how many clients are done."""
    total, bytes_up, done = aggregate.empty(terms.codec.adds_as, terms.dim), 0, 0
    size = max(1, -(-len(cohort) // _SHARES))
    waiting: deque[Future[Share]] = deque()
    firsts = deque(range(0, len(cohort), size))
    while firsts or waiting:
        while firsts and len(waiting) < 2 * workers:
            first = firsts.popleft()
            waiting.append(work(model, round_no, cohort[first : first + size], weights[first : first + size]))
        share = waiting.popleft().result()
        total.merge(share.total)  # type: ignore[arg-type]
        bytes_up += share.bytes_up
        done += share.clients
        tick(done)
    return Share(total, bytes_up, done)


@contextmanager
def crew(terms: Terms, learner: Learner, workers: int) -> Iterator[Work]:
    """Yield a function that sums a share in the background: in threads for compiled learners, else in processes."""
    make = _threads if learner.parallel == "threads" else _processes
    with make(terms, learner, workers) as work:
        yield work


@contextmanager
def _threads(terms: Terms, learner: Learner, workers: int) -> Iterator[Work]:
    idle: SimpleQueue[Worker] = SimpleQueue()
    for _ in range(workers):
        idle.put(learner.worker())

    def share(model: Vector, round_no: int, clients: NDArray[np.int64], weights: NDArray[np.int64]) -> Share:
        worker = idle.get()
        try:
            return sum_share(terms, worker, model, round_no, clients, weights)
        finally:
            idle.put(worker)

    with one_thread():  # each worker is one thread
        pool = ThreadPoolExecutor(workers)
        try:
            yield lambda *task: pool.submit(share, *task)
        finally:
            pool.shutdown(cancel_futures=True)


_inherited: dict[str, Any] = {}
"""What a forked process takes over from its parent: rows and model code need no copying and no pickling."""


@contextmanager
def _processes(terms: Terms, learner: Learner, workers: int) -> Iterator[Work]:
    _inherited.update(terms=terms, learner=learner)
    try:
        with children.pool(workers, _begin) as pool:
            yield lambda *task: pool.submit(_share_in_process, *task)
    finally:
        _inherited.clear()


def _begin() -> None:
    _inherited["worker"] = _inherited["learner"].worker()


def _share_in_process(model: Vector, round_no: int, clients: NDArray[np.int64], weights: NDArray[np.int64]) -> Share:
    return sum_share(_inherited["terms"], _inherited["worker"], model, round_no, clients, weights)
