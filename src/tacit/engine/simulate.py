"""Many clients on one machine: one site with everybody, answered in parts by workers, so that only sums travel.

A cohort is cut into parts that depend on the cohort alone. Each part is summed client by client, and parts are merged in
order, so floating-point sums come out the same to the bit with any number of workers. At most a few parts are in flight,
so memory does not grow with the cohort.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import numpy as np

from tacit import wire
from tacit.aggregate import Intake, parts_of
from tacit.engine import children
from tacit.engine.exchanges import Heads, HelperSums, Train
from tacit.engine.round import Exchange, Gathered, Names, Refusal, Request, Tick
from tacit.engine.shared_memory import Memory, Outbox, Outboxes, Packed, Sent
from tacit.engine.site import Client, Site
from tacit.errors import WireError
from tacit.local import Group, Learner, Update, Worker
from tacit.local.compiled.blas import one_thread
from tacit.rows import Vector
from tacit.seat import Seat
from tacit.secure_sum import Helper
from tacit.wire import Frame

Work = Callable[[Exchange, Request], "Future[Gathered]"]
"""Answers a request for some clients in the background and returns their sum."""

Helpers = dict[str, tuple[Helper, ...]]
"""The helpers of each secure sum, by the name of the exchange that asks them."""

_BESIDE_A_MODEL = 1 << 20
"""Bytes of what a question has beside a model; a longer question travels through a pipe in part."""


class Simulation:
    """A carrier whose one site holds everybody's rows. Helpers of secure sums, by exchange, are parties of their own."""

    def __init__(self, site: Site, work: Work, workers: int, helpers: Helpers | None = None) -> None:
        self.site, self.workers, self.helpers = site, workers, helpers or {}
        self.clients = len(site.names)
        self._work = work

    def willing(self, cohort: Names) -> Names:
        """Return those who have rows to train on."""
        return cohort[self.site.weights[cohort] > 0]

    def carry(self, exchange: Exchange, request: Request, tick: Tick) -> Gathered:
        """Return the sum over the asked clients; `tick` hears how many are done."""
        if isinstance(exchange, HelperSums):
            return helped(exchange, request, self.helpers[exchange.name], self.clients)
        refused = self.site.refusals(request, exchange.claims(max(1, len(request.to))))
        if refused:
            request = request.part(np.array([name for name in request.to.tolist() if name not in refused], np.int64))
        if isinstance(exchange, Train | Heads):
            self._collude(exchange, request)
        all_parts = deque(parts_of(request.to))
        waiting: deque[Future[Gathered]] = deque()
        said = tuple(Refusal(sender=name, reason=why) for name, why in refused.items())
        found = Gathered(total=exchange.empty(), clients=0, bytes_up=0, refused=said)
        while all_parts or waiting:
            while all_parts and len(waiting) < 2 * self.workers:
                part = all_parts.popleft()
                waiting.append(self._work(exchange, request.part(part)))
            found = found.merged(waiting.popleft().result())
            tick(found.clients + len(found.refused))
        return found

    def _collude(self, exchange: Train | Heads, request: Request) -> None:
        """Let attackers who work together see what they would honestly send, before anybody answers in this round."""
        site, round_no = self.site, request.round_no
        names = site.behaviour.colluders(request.to, round_no)
        if not len(names):
            return
        assert site.learner is not None
        seats, worker, model = [site.seat(name) for name in names.tolist()], site.learner.worker(), site.model(request)
        updates = updates_of(site, worker, model, seats, round_no)
        seen = {Train.name: np.stack([update.row.copy() for update in updates])}
        if isinstance(exchange, Heads):
            changes = [exchange.honest(Client(site, seat, worker), model, request) for seat in seats]
            seen[Heads.name] = np.stack([change.ravel() for change in changes])
        site.behaviour.collude(seen, len(request.to), round_no)

    def read(self, request: Request) -> Vector:
        """Return the model as the simulated clients read it."""
        return self.site.model(request)


def helped(exchange: HelperSums, request: Request, helpers: tuple[Helper, ...], clients: int) -> Gathered:
    """Return the parts of the asked helpers; between server and helper lies nothing but bytes."""
    intake, total, bytes_up = Intake(request.to.tolist(), request.round_no, clients), exchange.empty(), 0
    for number in request.to.tolist():
        try:
            frame = exchange.answer(helpers[number - 1], request)
            bytes_up += wire.size(frame)
            exchange.receive(intake, total, frame)
        except WireError as error:
            total.refused.append(Refusal(sender=number, reason=str(error)))
    return Gathered(total=total, clients=0, bytes_up=bytes_up)


def answers_of_part(exchange: Exchange, site: Site, worker: Worker, request: Request) -> Gathered:
    """Return the sum of some clients' answers: each answers for itself, and each answer is checked and added."""
    intake = request.intake(site.agreement.largest_weight)
    total, clients, bytes_up, refused = exchange.empty(), 0, 0, []
    for name in request.to.tolist():
        frame = exchange.answer(Client(site, site.seat(name), worker), request)
        if frame is None:
            continue
        bytes_up += wire.size(frame)
        try:
            exchange.receive(intake, total, frame)
            clients += 1
        except WireError as error:
            refused.append(Refusal(sender=name, reason=str(error)))
    return Gathered(total=total, clients=clients, bytes_up=bytes_up, refused=tuple(refused))


def trained_part(train: Train, site: Site, worker: Worker, request: Request) -> Gathered:
    """Return what `answers_of_part` returns for training, to the bit, but train many clients in one call."""
    codec, model, round_no = train.agreement.codec, site.model(request), request.round_no
    if codec.takes_updates and not train.agreement.server.one_by_one:
        return summed_part(train, site, worker, request)
    seats = [site.seat(name) for name in request.to.tolist()]
    updates = updates_of(site, worker, model, seats, round_no)
    intake, total = request.intake(site.agreement.largest_weight), train.empty()
    bytes_up, refused = 0, []
    for seat, found in zip(seats, updates, strict=True):
        update = site.behaviour.sends(seat, found, round_no, train.name)
        frame = train.encoded(Client(site, seat, worker), model, update.row, request)
        bytes_up += wire.size(frame)
        try:
            train.receive(intake, total, frame)
        except WireError as error:
            refused.append(Refusal(sender=seat.name, reason=str(error)))
    return Gathered(total=total, clients=len(seats) - len(refused), bytes_up=bytes_up, refused=tuple(refused))


def summed_part(train: Train, site: Site, worker: Worker, request: Request) -> Gathered:
    """Return what `answers_of_part` returns for training, to the bit, where updates are added up as they are.

    No message is made: its length is known, and nothing else of it is used. A sum that is not finite says that some update was
    not, and the part is answered again one by one.
    """
    names, round_no, terms = request.to, request.round_no, train.agreement
    seats, weights = [site.seat(name) for name in names.tolist()], site.weights_of(names)
    total: Any = train.empty()
    done = 0
    for group in trained_groups(site, worker, site.model(request), seats, round_no):
        some = slice(done, done + len(group.updates))
        for seat in seats[some]:
            site.charge(seat, train.name, round_no)
        if group.lines is not None and site.behaviour.all_honest(names[some], round_no):
            total.add_lines(group.lines, weights[some])
        else:
            for seat, found in zip(seats[some], group.updates, strict=True):
                total.add_row(site.behaviour.sends(seat, found, round_no, train.name).row, site.weight(seat))
        done = some.stop
    if not total.is_finite():
        return answers_of_part(train, site, worker, request)
    size = terms.codec.payload_size(terms.dim)
    heads = wire.head_sizes(train.header(Client(site, seats[0], worker), round_no, size), names, weights)
    return Gathered(total=total, clients=done, bytes_up=int(heads.sum()) + done * size)


def promised_by_part(train: Train, site: Site, worker: Worker, request: Request) -> None:
    """Let some clients make the updates they will commit to, many in one call; each of them finds its own at its site."""
    model, round_no = site.model(request), request.round_no
    seats = [site.seat(name) for name in request.to.tolist()]
    for seat, found in zip(seats, updates_of(site, worker, model, seats, round_no), strict=True):
        update = site.behaviour.sends(seat, found, round_no, train.name)
        train.promise(Client(site, seat, worker), model, update.row, request)


def updates_of(site: Site, worker: Worker, model: Vector, seats: list[Seat], round_no: int) -> Iterator[Update]:
    """Yield what some clients' training changed, each on the rows it trains on in this round."""
    return (update for group in trained_groups(site, worker, model, seats, round_no) for update in group.updates)


def trained_groups(site: Site, worker: Worker, model: Vector, seats: list[Seat], round_no: int) -> Iterator[Group]:
    """Yield the same, some clients at a time."""
    trained = [site.behaviour.trains(seat, round_no) for seat in seats]
    return worker.train_together(model, trained, [seat.own.train(round_no) for seat in seats], round_no)


def answered(exchange: Exchange, site: Site, worker: Worker, request: Request) -> Gathered:
    """Return the sum of some clients' answers, on the fastest way that gives these very bits."""
    if isinstance(exchange, Train) and site.all_have_rows(request.to) and not request.commitments:
        return trained_part(exchange, site, worker, request)
    if isinstance(exchange, Heads) and exchange.binds and site.all_have_rows(request.to):
        promised_by_part(exchange.train, site, worker, request)
    return answers_of_part(exchange, site, worker, request)


@contextmanager
def simulation(site: Site, exchanges: tuple[Exchange, ...], workers: int, helpers: Helpers | None = None) -> Iterator[Simulation]:
    """Yield the carrier of a simulation: workers are threads for compiled learners, else processes."""
    assert site.learner is not None
    make = _threads if site.learner.parallel == "threads" else _processes
    with make(site, site.learner, exchanges, workers) as work:
        yield Simulation(site, work, workers, helpers)


@contextmanager
def _threads(site: Site, learner: Learner, exchanges: tuple[Exchange, ...], workers: int) -> Iterator[Work]:
    idle: SimpleQueue[Worker] = SimpleQueue()
    for _ in range(workers):
        idle.put(learner.worker())

    def part(exchange: Exchange, request: Request) -> Gathered:
        worker = idle.get()
        try:
            return answered(exchange, site, worker, request)
        finally:
            idle.put(worker)

    with one_thread():  # each worker is one thread
        pool = ThreadPoolExecutor(workers)
        try:
            yield lambda exchange, request: pool.submit(part, exchange, request)
        finally:
            pool.shutdown(cancel_futures=True)


_inherited: dict[str, Any] = {}
"""What a forked process takes over from its parent: rows and model code need no copying and no pickling."""


@contextmanager
def _processes(site: Site, learner: Learner, exchanges: tuple[Exchange, ...], workers: int) -> Iterator[Work]:
    outboxes = Outboxes(workers, 8 * learner.size)  # a sum of float64, the largest that most codecs make
    questions = Memory(4 * learner.size + _BESIDE_A_MODEL)
    _inherited.update(site=site, learner=learner, exchanges={exchange.name: exchange for exchange in exchanges})
    _inherited.update(outboxes=outboxes, questions=questions)
    written: tuple[Frame, Packed] | None = None
    try:
        with children.pool(workers, _begin) as pool:

            def work(exchange: Exchange, request: Request) -> Future[Gathered]:
                nonlocal written
                if written is None or written[0] is not request.frame:  # once for all parts of a question; the last is answered
                    head, payload = request.frame
                    written = request.frame, questions.put((head, np.frombuffer(payload, np.uint8), site.behaviour.common))
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
    found = answered(_inherited["exchanges"][request.exchange], _inherited["site"], _inherited["worker"], request)
    outbox: Outbox = _inherited["outbox"]
    return outbox.put(found)
