"""Many clients of one site trained in one call, with the bits of single answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tacit.errors import WireError
from tacit.protocol import messages
from tacit.protocol.round import Gathered, Refusal, Request, answer_one_by_one
from tacit.protocol.site import Client, Site
from tacit.rows import Vector
from tacit.seat import Seat
from tacit.training import Group, Update, Worker

if TYPE_CHECKING:
    from tacit.protocol.exchanges.train import Train


def train_together(train: Train, site: Site, worker: Worker, request: Request) -> Gathered:
    """Return what `answer_one_by_one` returns for training, to the bit, but train many clients in one
    call.
    """
    codec, model, round_no = train.agreement.codec, site.model(request), request.round_no
    if codec.takes_updates and not train.agreement.server.one_by_one:
        return sum_updates(train, site, worker, request)
    seats = [site.seat(name) for name in request.to.tolist()]
    updates = train_each(site, worker, model, seats, round_no)
    intake, total = request.intake(site.agreement.largest_weight), train.empty()
    bytes_up, refused = 0, []
    for seat, found in zip(seats, updates, strict=True):
        update = site.behaviour.sends(seat, found, round_no, train.name)
        frame = train.encoded(Client(site, seat, worker), model, update.row, request)
        bytes_up += messages.size(frame)
        try:
            train.receive(intake, total, frame)
        except WireError as error:
            refused.append(Refusal(sender=seat.name, reason=str(error)))
    return Gathered(
        total=total, clients=len(seats) - len(refused), bytes_up=bytes_up, refused=tuple(refused)
    )


def sum_updates(train: Train, site: Site, worker: Worker, request: Request) -> Gathered:
    """Return what `answer_one_by_one` returns for training, to the bit, where updates are added up as
    they are.

    No message is made: its length is known, and nothing else of it is used. A sum that is not
    finite says that some update was not, and the part is answered again one by one.
    """
    names, round_no, terms = request.to, request.round_no, train.agreement
    seats, weights = [site.seat(name) for name in names.tolist()], site.weights_of(names)
    total: Any = train.empty()
    done = 0
    for group in train_groups(site, worker, site.model(request), seats, round_no):
        some = slice(done, done + len(group.updates))
        if group.lines is not None and site.behaviour.all_honest(names[some], round_no):
            total.add_lines(group.lines, weights[some])
        else:
            for seat, found in zip(seats[some], group.updates, strict=True):
                total.add_row(
                    site.behaviour.sends(seat, found, round_no, train.name).row, site.weight(seat)
                )
        done = some.stop
    if not total.is_finite():
        return answer_one_by_one(train, site, worker, request)
    size = terms.codec.payload_size(terms.dim)
    heads = messages.head_sizes(
        train.header(Client(site, seats[0], worker), round_no, size), names, weights
    )
    return Gathered(total=total, clients=done, bytes_up=int(heads.sum()) + done * size)


def commit_together(train: Train, site: Site, worker: Worker, request: Request) -> None:
    """Let some clients make the updates they will commit to, many in one call; each of them finds
    its own at its site.
    """
    model, round_no = site.model(request), request.round_no
    seats = [site.seat(name) for name in request.to.tolist()]
    for seat, found in zip(seats, train_each(site, worker, model, seats, round_no), strict=True):
        update = site.behaviour.sends(seat, found, round_no, train.name)
        train.promise(Client(site, seat, worker), model, update.row, request)


def train_each(
    site: Site, worker: Worker, model: Vector, seats: list[Seat], round_no: int
) -> Iterator[Update]:
    """Yield what some clients' training changed, each on the rows it trains on in this round."""
    return (
        update
        for group in train_groups(site, worker, model, seats, round_no)
        for update in group.updates
    )


def train_groups(
    site: Site, worker: Worker, model: Vector, seats: list[Seat], round_no: int
) -> Iterator[Group]:
    """Yield the same, some clients at a time."""
    trained = [site.behaviour.trains(seat, round_no) for seat in seats]
    return worker.train_together(
        model, trained, [seat.own.train(round_no) for seat in seats], round_no
    )
