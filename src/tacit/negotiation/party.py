"""One party of a negotiation, from its own range to the common result."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import secrets
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from tacit.errors import PlanError, RunError
from tacit.negotiation.circle import Circle, FrameObserver, PartyPlace
from tacit.negotiation.link import Kind
from tacit.negotiation.result import SECRET_BYTES, Negotiated, bind_result
from tacit.negotiation.terms import LIMIT, STEP, NegotiationTerms, to_steps

if TYPE_CHECKING:
    from tacit.negotiation.shares import Computation

DEADLINE_SECONDS = 60.0
_STOPPED = "Event loop stopped before Future completed."


def negotiate(
    place: PartyPlace,
    local_range: tuple[float, float],
    terms: NegotiationTerms,
    *,
    seconds: float = DEADLINE_SECONDS,
    observer: FrameObserver | None = None,
) -> Negotiated:
    """Negotiate with all parties; raise WireError, after at most `seconds`, if there is no
    agreement.

    Every party calls this in its own process, at about the same time.

    Guarantees: beyond the common range, parties learn nothing about each other's ranges, as long as
    fewer than half of them collude and all follow the protocol. The secret is the exclusive or of
    one random word per party; only the parties know it. No result is opened unless all agree on the
    terms and have computed to the end.
    """
    if not 0 <= place.party < terms.parties or len(place.addresses) != terms.parties:
        raise PlanError(
            f"negotiate(party={place.party}): there must be one address per party, this one's"
            f" included, got {len(place.addresses)} for {terms.parties} parties; parties are"
            " numbered from 0"
        )
    if not 0 < seconds <= 86_400:
        raise PlanError(
            f"negotiate: the deadline must be positive and at most 86400 seconds, got {seconds}"
        )
    steps = to_steps(*local_range)
    require_mpyc()
    if asyncio._get_running_loop() is not None:
        raise RunError("negotiate cannot run inside a running event loop; call it from a script")
    return _finish(_run_until_deadline(place, steps, terms, seconds, observer))


def require_mpyc() -> None:
    """Raise ModuleNotFoundError before connecting to others, if mpyc is not installed."""
    importlib.import_module("tacit.negotiation.shares")


def _finish(work: Coroutine[Any, Any, Negotiated]) -> Negotiated:
    """Run to completion in a separate event loop. mpyc stops the loop when one of its steps fails;
    this one continues, to report it.

    The loop is Python's own: uvloop, which Flower installs, does not work with these links.
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


async def _run_until_deadline(
    place: PartyPlace,
    steps: tuple[int, int],
    terms: NegotiationTerms,
    seconds: float,
    observer: FrameObserver | None,
) -> Negotiated:
    """Race the work against its deadline and the first failure."""
    circle = Circle(place, terms, observer)
    work = asyncio.create_task(_work(circle, steps, terms))
    try:
        either: set[asyncio.Future[Any]] = {work, circle.failed}
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        if not circle.failed.done():
            circle.fail_late()
        raise circle.failed.result()
    finally:
        work.cancel()
        await circle.close_links()


async def _work(circle: Circle, steps: tuple[int, int], terms: NegotiationTerms) -> Negotiated:
    await circle.gather()
    computation = _computation(circle)
    await computation.share(*steps, secrets.randbits(8 * SECRET_BYTES))
    # From here on everybody could open. A party that went away before this point has stopped all
    # the others.
    await circle.meet(Kind.READY)
    least, greatest, word = await computation.open()
    if not (-LIMIT / STEP <= least <= steps[0] and steps[1] <= greatest <= LIMIT / STEP):
        circle.fail_computation()
        raise circle.failed.result()
    agreed = bind_result(terms, least * STEP, greatest * STEP, word.to_bytes(SECRET_BYTES, "big"))
    await circle.meet(Kind.CONFIRM, bytes.fromhex(agreed.transcript_hash))
    return agreed


def _computation(circle: Circle) -> Computation:
    from tacit.negotiation.shares import Computation

    computation = Computation(circle.me, circle.links)

    def failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "exception" in context:
            circle.fail_computation(context["exception"])

    asyncio.get_running_loop().set_exception_handler(failed)
    return computation
