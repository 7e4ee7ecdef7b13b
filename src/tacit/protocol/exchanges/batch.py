"""Training of many clients of a site in one call, with the same bits as single responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tacit.client import ClientSlot
from tacit.errors import WireError
from tacit.protocol import messages
from tacit.protocol.round import Gathered, Refusal, Request, respond_one_by_one
from tacit.protocol.site import Client, Site
from tacit.rows import Vector
from tacit.training import Group, Update, Worker

if TYPE_CHECKING:
    from tacit.protocol.exchanges.train import UpdateExchange


def train_together(train: UpdateExchange, site: Site, worker: Worker, request: Request) -> Gathered:
    """Compute what `respond_one_by_one` computes for training, to the bit, but train many clients
    in one call.
    """
    codec, model, round_no = train.agreement.codec, site.model(request), request.round_no
    if codec.takes_updates and not train.one_by_one:
        return sum_updates(train, site, worker, request)
    slots = [site.slot(name) for name in request.to.tolist()]
    updates = train_each(site, worker, model, slots, round_no)
    intake, total = request.intake(site.agreement.largest_weight), train.empty()
    bytes_up, refused = 0, []
    for slot, found in zip(slots, updates, strict=True):
        update = site.behaviour.sends(slot, found, round_no, train.name)
        frame = train.build_message(Client(site, slot, worker), model, update.row, request)
        bytes_up += messages.size(frame)
        try:
            train.receive(intake, total, frame)
        except WireError as error:
            refused.append(Refusal(sender=slot.name, reason=str(error)))
    return Gathered(
        total=total, clients=len(slots) - len(refused), bytes_up=bytes_up, refused=tuple(refused)
    )


def sum_updates(train: UpdateExchange, site: Site, worker: Worker, request: Request) -> Gathered:
    """Compute what `respond_one_by_one` computes for training, to the bit, where unencoded updates
    are summed.

    No message is built: only its length is used, which is known. If the sum is not finite, some
    update was not, and the chunk is processed again one by one.
    """
    names, round_no = request.to, request.round_no
    slots, weights = [site.slot(name) for name in names.tolist()], site.get_weights(names)
    total: Any = train.empty()
    done = 0
    for group in train_groups(site, worker, site.model(request), slots, round_no):
        some = slice(done, done + len(group.updates))
        if group.lines is not None and site.behaviour.all_honest(names[some], round_no):
            total.add_sparse(group.lines, weights[some])
        else:
            for slot, found in zip(slots[some], group.updates, strict=True):
                total.add_row(
                    site.behaviour.sends(slot, found, round_no, train.name).row, site.weight(slot)
                )
        done = some.stop
    if not total.is_finite():
        return respond_one_by_one(train, site, worker, request)
    size = train.payload_size
    heads = messages.compute_head_sizes(
        train.header(Client(site, slots[0], worker), round_no, size), names, weights
    )
    return Gathered(total=total, clients=done, bytes_up=int(heads.sum()) + done * size)


def commit_together(train: UpdateExchange, site: Site, worker: Worker, request: Request) -> None:
    """Train the updates that some clients will commit to, many in one call; the site keeps them."""
    model, round_no = site.model(request), request.round_no
    slots = [site.slot(name) for name in request.to.tolist()]
    for slot, found in zip(slots, train_each(site, worker, model, slots, round_no), strict=True):
        update = site.behaviour.sends(slot, found, round_no, train.name)
        train.promise(Client(site, slot, worker), model, update.row, request)


def train_each(
    site: Site, worker: Worker, model: Vector, slots: list[ClientSlot], round_no: int
) -> Iterator[Update]:
    """Yield the updates of some clients, each on the rows it trains on in this round."""
    return (
        update
        for group in train_groups(site, worker, model, slots, round_no)
        for update in group.updates
    )


def train_groups(
    site: Site, worker: Worker, model: Vector, slots: list[ClientSlot], round_no: int
) -> Iterator[Group]:
    """Yield the updates of some clients, several clients at a time."""
    trained = [site.behaviour.trains(slot, round_no) for slot in slots]
    return worker.train_together(
        model, trained, [slot.own.train(round_no) for slot in slots], round_no
    )
