"""A carrier for many clients on one machine, as one site. Workers respond for chunks of the cohort,
so that only sums are transferred.

Chunks depend on the cohort alone. Each is summed client by client, and chunks are merged in a fixed
tree, so floating-point sums are the same to the bit with any number of workers. At most a few chunks
are processed at once, so memory does not grow with the cohort.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import WireError
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake, split_into_chunks
from tacit.protocol.merge_tree import MergeTree
from tacit.protocol.messages import Frame
from tacit.protocol.round import Exchange, Gathered, Names, Refusal, Request, Tick
from tacit.protocol.site import Site
from tacit.rows import Vector
from tacit.simulation.workers import children
from tacit.simulation.workers.shared_memory import Memory, Outbox, Outboxes, Packed, Sent
from tacit.training import Learner, Worker
from tacit.training.compiled.blas import one_thread

if TYPE_CHECKING:
    from tacit.secure_aggregation import Helper

Work = Callable[[Exchange, Request], "Future[Gathered]"]
"""Compute the response of some clients in the background, as their sum."""

SumChunks = Callable[[Exchange, Request, Tick], "Gathered | None"]
"""The sum over all chunks of a cohort; None if nobody is asked."""

Helpers = tuple[dict[str, "Helper"], ...]
"""The helpers in order, each by the name of the exchange that uses it."""

_BESIDE_A_MODEL = 1 << 20
"""Maximum bytes of a request in addition to a model; the rest of a longer one goes through a pipe."""


class Simulation:
    """A carrier with one site that has all rows. The helpers of secure aggregation, by exchange,
    are separate parties.
    """

    def __init__(self, site: Site, sum_chunks: SumChunks, helpers: Helpers = ()) -> None:
        self.site, self.helpers = site, helpers
        self.clients = len(site.names)
        self._sum_chunks = sum_chunks

    def willing(self, cohort: Names) -> Names:
        """The clients of a cohort that have rows to train on."""
        return cohort[self.site.weights[cohort] > 0]

    def carry(self, exchange: Exchange, request: Request, tick: Tick) -> Gathered:
        """The sum over the requested clients; `tick` receives the number that have finished."""
        if exchange.asks_helpers:
            asked = tuple(helper[exchange.name] for helper in self.helpers)
            return ask_helpers(exchange, request, asked, self.clients)
        refused = self.site.refusals(request, exchange.claims(max(1, len(request.to))))
        if refused:
            request = request.part(
                np.array([name for name in request.to.tolist() if name not in refused], np.int64)
            )
        self._collude(exchange, request)
        said = tuple(Refusal(sender=name, reason=why) for name, why in refused.items())
        found = Gathered(total=exchange.empty(), clients=0, bytes_up=0, refused=said)
        more = self._sum_chunks(exchange, request, lambda done: tick(done + len(said)))
        return found if more is None else found.merged(more)

    def _collude(self, exchange: Exchange, request: Request) -> None:
        """Show colluding attackers the updates they would honestly send, before any client responds
        in this round.
        """
        site, round_no = self.site, request.round_no
        names = site.behaviour.colluders(request.to, round_no)
        if not len(names):
            return
        assert site.learner is not None
        seen = exchange.foresee(site, site.learner.worker(), request, names)
        if seen:
            site.behaviour.collude(seen, len(request.to), round_no)

    def read(self, request: Request) -> Vector:
        """The model as the simulated clients decode it."""
        return self.site.model(request)


def ask_helpers(
    exchange: Exchange, request: Request, helpers: tuple[Helper, ...], clients: int
) -> Gathered:
    """The shares of the requested helpers; server and helper exchange only bytes."""
    intake, total, bytes_up = (
        Intake(request.to.tolist(), request.round_no, clients),
        exchange.empty(),
        0,
    )
    for number in request.to.tolist():
        try:
            frame = exchange.respond(helpers[number - 1], request)
            assert frame is not None, "a helper responds or refuses"
            bytes_up += messages.size(frame)
            exchange.receive(intake, total, frame)
        except WireError as error:
            total.refused.append(Refusal(sender=number, reason=str(error)))
    return Gathered(total=total, clients=0, bytes_up=bytes_up)


@contextmanager
def simulation(
    site: Site, exchanges: tuple[Exchange, ...], workers: int, helpers: Helpers = ()
) -> Iterator[Simulation]:
    """Yield the carrier of a simulation; workers are threads for compiled learners, else processes."""
    assert site.learner is not None
    make = _threads if site.learner.parallel == "threads" else _processes
    with make(site, site.learner, exchanges, workers) as work:
        yield Simulation(site, partial(_sum_in_order, work, workers), helpers)


@contextmanager
def in_one_thread(
    site: Site, exchanges: tuple[Exchange, ...], helpers: Helpers
) -> Iterator[Simulation]:
    """Yield the carrier of a simulation that trains in this process, which must not be forked: it is
    attached to a cluster.
    """
    assert site.learner is not None
    with _threads(site, site.learner, exchanges, 1) as work:
        yield Simulation(site, partial(_sum_in_order, work, 1), helpers)


def _sum_in_order(
    work: Work, workers: int, exchange: Exchange, request: Request, tick: Tick
) -> Gathered | None:
    """Sum all chunks, a few at once; `tick` receives the number of clients that have finished."""
    chunks = list(split_into_chunks(request.to))
    tree, done, submitted = MergeTree[Gathered](len(chunks)), 0, 0
    waiting: deque[Future[Gathered]] = deque()
    for number in range(len(chunks)):
        while submitted < min(len(chunks), number + 2 * workers):
            waiting.append(work(exchange, request.part(chunks[submitted])))
            submitted += 1
        found = waiting.popleft().result()
        done += found.clients + len(found.refused)
        tree.add(0, number, found)
        tick(done)
    return tree.take_root()


@contextmanager
def _threads(
    site: Site, learner: Learner, exchanges: tuple[Exchange, ...], workers: int
) -> Iterator[Work]:
    idle: SimpleQueue[Worker] = SimpleQueue()
    for _ in range(workers):
        idle.put(learner.worker())

    def part(exchange: Exchange, request: Request) -> Gathered:
        worker = idle.get()
        try:
            return exchange.respond_many(site, worker, request)
        finally:
            idle.put(worker)

    with one_thread():  # each worker is one thread
        pool = ThreadPoolExecutor(workers)
        try:
            yield lambda exchange, request: pool.submit(part, exchange, request)
        finally:
            pool.shutdown(cancel_futures=True)


_inherited: dict[str, Any] = {}
"""What a forked process inherits from its parent: rows and model code need no copying and no
pickling.
"""


@contextmanager
def _processes(
    site: Site, learner: Learner, exchanges: tuple[Exchange, ...], workers: int
) -> Iterator[Work]:
    outboxes = Outboxes(
        workers, 8 * learner.size
    )  # a sum of float64, the largest that most codecs make
    questions = Memory(4 * learner.size + _BESIDE_A_MODEL)
    _inherited.update(
        site=site, learner=learner, exchanges={exchange.name: exchange for exchange in exchanges}
    )
    _inherited.update(outboxes=outboxes, questions=questions)
    written: tuple[Frame, Packed] | None = None
    try:
        with children.pool(workers, _begin) as pool:

            def work(exchange: Exchange, request: Request) -> Future[Gathered]:
                nonlocal written
                if (
                    written is None or written[0] is not request.frame
                ):  # once for all chunks of a request; the previous request is complete
                    head, payload = request.frame
                    written = (
                        request.frame,
                        questions.put(
                            (head, np.frombuffer(payload, np.uint8), site.behaviour.common)
                        ),
                    )
                rest = {name: value for name, value in vars(request).items() if name != "frame"}
                return outboxes.taken(pool.submit(_part_in_process, rest, written[1]))

            yield work
    finally:
        _inherited.clear()


def _begin() -> None:
    _inherited["worker"] = _inherited["learner"].worker()
    _inherited["outbox"] = _inherited["outboxes"].mine()


def _part_in_process(rest: dict[str, Any], question: Packed) -> Sent:
    head, payload, _inherited["site"].behaviour.common = _inherited["questions"].view(question)
    request = Request(**rest, frame=(head, memoryview(payload)))
    exchange: Exchange = _inherited["exchanges"][request.exchange]
    found = exchange.respond_many(_inherited["site"], _inherited["worker"], request)
    outbox: Outbox = _inherited["outbox"]
    return outbox.put(found)
