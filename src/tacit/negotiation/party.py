"""One party of a negotiation, from its own range to what all agreed on."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import secrets
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from tacit.errors import PlanError, RunError
from tacit.negotiation.agreed import SECRET_BYTES, Negotiated, bind
from tacit.negotiation.circle import Circle, Place, Witness
from tacit.negotiation.link import Kind
from tacit.negotiation.terms import LIMIT, STEP, Terms, to_steps

if TYPE_CHECKING:
    from tacit.negotiation.shares import Computation

DEADLINE_SECONDS = 60.0
_STOPPED = "Event loop stopped before Future completed."


def negotiate(
    place: Place,
    local_range: tuple[float, float],
    terms: Terms,
    *,
    seconds: float = DEADLINE_SECONDS,
    witness: Witness | None = None,
) -> Negotiated:
    """Return what all parties agreed on; raise WireError, after at most `seconds`, if they did not.

    Every party calls this in a process of its own, at about the same time.

    Guarantees: besides the range of all, parties learn nothing of each other's ranges, as long as
    fewer than half of them put together what they see and all follow the protocol. The secret is
    the exclusive or of one random word per party; all parties know it and nobody else does. No
    result is opened unless all agree on the terms and have computed to the end.
    """
    if not 0 <= place.party < terms.parties or len(place.addresses) != terms.parties:
        raise PlanError(
            f"negotiate(party={place.party}) needs one address per party and its own place among"
            f" them, got {len(place.addresses)} for {terms.parties} parties; parties are numbered"
            " from 0"
        )
    if not 0 < seconds <= 86_400:
        raise PlanError(f"negotiate(deadline={seconds}) needs seconds above 0, up to a day")
    steps = to_steps(*local_range)
    need_mpyc()
    if asyncio._get_running_loop() is not None:
        raise RunError(
            "negotiate needs a process of its own, got one with a running event loop; call it from"
            " a script"
        )
    return _finish(_with_deadline(place, steps, terms, seconds, witness))


def need_mpyc() -> None:
    """Raise ModuleNotFoundError now rather than in front of the others, if mpyc is not
    installed.
    """
    importlib.import_module("tacit.negotiation.shares")


def _finish(work: Coroutine[Any, Any, Negotiated]) -> Negotiated:
    """Run to the end in an event loop of its own. mpyc stops the loop when a step of it fails; ours
    goes on, to say so.

    The loop is Python's own, whatever this process prefers: uvloop, which comes with Flower, does
    not work with our links.
    """
    loop = asyncio.SelectorEventLoop()
    task = loop.create_task(work)
    try:
        while True:
            try:
                return loop.run_until_complete(task)
            except RuntimeError as error:
                if str(error) != _STOPPED:
                    raise
    finally:
        loop.set_exception_handler(lambda *_: None)  # cut off in the middle, mpyc's tasks complain
        left = asyncio.all_tasks(loop)
        for one in left:
            one.cancel()
        with contextlib.suppress(RuntimeError):
            loop.run_until_complete(asyncio.wait(left, timeout=1)) if left else None
        loop.close()


async def _with_deadline(
    place: Place, steps: tuple[int, int], terms: Terms, seconds: float, witness: Witness | None
) -> Negotiated:
    """Race the work against its deadline and against the first thing that goes wrong."""
    circle = Circle(place, terms, witness)
    work = asyncio.create_task(_work(circle, steps, terms))
    try:
        either: set[asyncio.Future[Any]] = {work, circle.failed}
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        if not circle.failed.done():
            circle.late()
        raise circle.failed.result()
    finally:
        work.cancel()
        await circle.part()


async def _work(circle: Circle, steps: tuple[int, int], terms: Terms) -> Negotiated:
    await circle.gather()
    computation = _computation(circle)
    await computation.share(*steps, secrets.randbits(8 * SECRET_BYTES))
    # From here on everybody could open. A party that went away before this point has stopped all
    # the others.
    await circle.meet(Kind.READY)
    least, greatest, word = await computation.open()
    if not (-LIMIT / STEP <= least <= steps[0] and steps[1] <= greatest <= LIMIT / STEP):
        circle.broke()
        raise circle.failed.result()
    agreed = bind(terms, least * STEP, greatest * STEP, word.to_bytes(SECRET_BYTES, "big"))
    await circle.meet(Kind.CONFIRM, bytes.fromhex(agreed.transcript_hash))
    return agreed


def _computation(circle: Circle) -> Computation:
    from tacit.negotiation.shares import Computation

    computation = Computation(circle.me, circle.links)

    def failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "exception" in context:
            circle.broke(context["exception"])

    asyncio.get_running_loop().set_exception_handler(failed)
    return computation
