"""All parties from one party's view: who is connected, who is awaited, and the first failure."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass

from tacit.errors import WireError
from tacit.negotiation.addresses import Address
from tacit.negotiation.failures import Reason, failure
from tacit.negotiation.link import Kind, Link, greeting
from tacit.negotiation.terms import NegotiationTerms

_STRANGERS = 32
"""Maximum number of open connections without a greeting."""
_RETRY_SECONDS = 0.05
_GREETING_SECONDS = 5.0
_GOODBYE_SECONDS = 1.0

FrameObserver = Callable[[int, Kind, int, bytes], None]
"""Called with each frame that arrives: peer, kind, label and payload. Used to audit what a party
sees.
"""


@dataclass(frozen=True)
class PartyPlace:
    """A party's number, the addresses of all parties, and optionally a socket that already listens
    for this one.
    """

    party: int
    addresses: tuple[Address, ...]
    listener: socket.socket | None = None


class Circle:
    """The links of one party to all others."""

    def __init__(
        self, place: PartyPlace, terms: NegotiationTerms, observer: FrameObserver | None = None
    ) -> None:
        loop = asyncio.get_running_loop()
        self.me = place.party
        self.links: dict[int, Link] = {}
        self.failed: asyncio.Future[WireError] = loop.create_future()
        self.greeting = greeting(self.me, list(terms.digests().values()))
        self._place = place
        self._terms = terms
        self._observer = observer
        self._differing: dict[int, str] = {}
        self._lengths: dict[int, int] = {}
        self._meetings = {kind: _Meeting(self.others) for kind in (Kind.READY, Kind.CONFIRM)}
        self._strangers: set[Link] = set()
        self._called: set[Link] = set()
        self._turned_away = 0
        self._complete: asyncio.Future[None] = loop.create_future()
        self._server: asyncio.Server | None = None
        self._at_fault: tuple[int, Reason] | None = None
        self._done = False

    @property
    def others(self) -> list[int]:
        """All parties but this one."""
        return [party for party in range(self._terms.parties) if party != self.me]

    # Coming together.

    async def gather(self) -> None:
        """Wait until all parties are connected and agree on the public parameters.

        This party keeps listening to the end: if an accepted connection was an impostor's, the real
        party will connect.
        """
        await self._listen()
        calls = [asyncio.create_task(self._call(party)) for party in self.others if party > self.me]
        try:
            await self._complete
        finally:
            for call in calls:
                call.cancel()
        for party, names in sorted(self._differing.items()):
            self._fail(party, Reason.DISAGREES, detail=names)
        self._raise_failure()

    async def _listen(self) -> None:
        """Listen for the parties with lower numbers, which connect to this one."""
        if self.me == 0:
            return
        loop, here = asyncio.get_running_loop(), self._place.addresses[self.me]
        listener = self._place.listener
        try:
            if listener is None:
                self._server = await loop.create_server(
                    self._stranger, here.host, here.port, backlog=_STRANGERS
                )
            else:
                self._server = await loop.create_server(
                    self._stranger, sock=listener, backlog=_STRANGERS
                )
        except OSError as error:
            raise WireError(
                f"negotiate(party={self.me}) cannot listen at {here} ({error.strerror}); "
                "choose a free port, and name it to all parties"
            ) from None

    def _stranger(self) -> Link:
        link = Link(self, None)
        self._strangers.add(link)
        # Whoever connects and does not greet is turned away: at once if there are many, else after
        # a while.
        asyncio.get_running_loop().call_later(
            0 if len(self._strangers) > _STRANGERS else _GREETING_SECONDS, self._turn_away, link
        )
        link.ended.add_done_callback(lambda _: self._turn_away(link))
        return link

    def _turn_away(self, link: Link) -> None:
        if link in self._strangers:
            self._strangers.discard(link)
            self._turned_away += 1
            link.close()

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
        for link in list(self._strangers):
            link.close()

    async def _call(self, party: int) -> None:
        """Connect to a party with a higher number; retry until it responds."""
        address, loop = self._place.addresses[party], asyncio.get_running_loop()
        while party not in self.links:
            with contextlib.suppress(OSError):
                _, link = await loop.create_connection(
                    lambda: Link(self, party), address.host, address.port
                )
                self._called.add(link)
                # Its process may still be starting, so an open connection is waited for as long as
                # there is time.
                await asyncio.wait({link.entered, link.ended}, return_when=asyncio.FIRST_COMPLETED)
                self._turned_away += party not in self.links
            await asyncio.sleep(_RETRY_SECONDS)

    # What links report.

    def accept_greeting(self, link: Link, party: int, digests: list[bytes]) -> bool:
        """Whether the party that greets on a link is accepted."""
        self._strangers.discard(link)
        expected = party == link.peer if link.peer is not None else party < self.me
        if not expected or self._done:
            return False
        if party in self.links:
            self.blame(party, Reason.TWICE)
            link.turn_away(bytes([Reason.TWICE, party]))
            return False
        link.peer = party
        self.links[party] = link
        ours = self._terms.digests()
        differing = [
            name
            for (name, digest), theirs in zip(ours.items(), digests, strict=True)
            if digest != theirs
        ]
        if differing:
            self._differing[party] = ", ".join(differing)
        if len(self.links) == len(self.others):
            self._complete.set_result(None)
        return True

    def record_frame(self, peer: int, kind: Kind, label: int, payload: bytes) -> None:
        """Record a frame; a repeated one is a failure of its sender."""
        if self._observer is not None:
            self._observer(peer, kind, label, payload)
        if kind in self._meetings and not self._meetings[kind].take(peer, payload):
            self.blame(peer, Reason.GARBAGE)

    def handle_stop(self, peer: int, payload: bytes) -> None:
        """Stop because a party gave up, for its stated reason if that is valid."""
        if (
            len(payload) == 2
            and payload[0] in frozenset(Reason)
            and payload[1] < self._terms.parties
        ):
            party, reason = payload[1], Reason(payload[0])
            if reason is Reason.DISAGREES and peer in self._differing:
                self._fail(
                    peer, reason, detail=self._differing[peer]
                )  # it disagrees with us as much as we with it
            else:
                self._fail(party, reason, told_by=peer, detail=self._differing.get(party, ""))
        else:
            self.blame(peer, Reason.GARBAGE)

    def blame(self, peer: int, reason: Reason) -> None:
        """Fail because of a party. A party that leaves after its confirmation is not blamed."""
        if reason is not Reason.GONE or not self._meetings[Kind.CONFIRM].came(peer):
            self._fail(peer, reason)

    def find_length(self, label: int) -> int | None:
        """Length of this party's own message with a label."""
        return self._lengths.get(label)

    def record_length(self, label: int, length: int) -> None:
        """Record the length of this party's own message with a label."""
        self._lengths[label] = length

    # Meeting, failing, parting.

    async def meet(self, kind: Kind, payload: bytes = b"") -> None:
        """Wait until all parties reach the same point with the same payload."""
        for link in self.links.values():
            link.send_frame(kind, payload)
        said = await self._meetings[kind].everybody
        for party, theirs in sorted(said.items()):
            if theirs != payload:
                self._fail(party, Reason.OTHER_RESULT)
        self._raise_failure()

    def _raise_failure(self) -> None:
        """Raise the first failure, so that no further step is taken."""
        if self.failed.done():
            raise self.failed.result()

    def fail_late(self) -> None:
        """Fail at the deadline, naming the parties that are awaited."""
        absent = [party for party in self.others if party not in self.links]
        if absent and self._differing:
            party, names = min(self._differing.items())
            self._fail(party, Reason.DISAGREES, detail=names)
            return
        silent = absent or [party for party, link in sorted(self.links.items()) if link.waits]
        silent = (
            silent
            or [party for meeting in self._meetings.values() for party in meeting.missing]
            or self.others
        )
        also = (
            f", and neither did {', '.join(str(party) for party in silent[1:])}"
            if silent[1:]
            else ""
        )
        turned = (
            f"; {self._turned_away} connections that did not speak this protocol were rejected"
            if self._turned_away
            else ""
        )
        self._fail(
            silent[0], Reason.LATE, detail=f"at {self._place.addresses[silent[0]]}{also}{turned}"
        )

    def fail_computation(self, cause: BaseException | None = None) -> None:
        """Fail because the computation failed here: a message had the right length and no valid
        content.
        """
        self._fail(self.me, Reason.BROKE)
        if self.failed.done():
            self.failed.result().__cause__ = cause  # for --debug

    def _fail(
        self, party: int, reason: Reason, *, told_by: int | None = None, detail: str = ""
    ) -> None:
        if not self.failed.done() and not self._done:
            self._at_fault = party, reason
            self.failed.set_result(failure(self.me, party, reason, told_by=told_by, detail=detail))

    async def close_links(self) -> None:
        """Close every connection; after a failure, first tell the others who caused it."""
        self._done = True
        self._stop_listening()
        # Those we called know us already, even if their greeting has not reached us.
        links = self._called | set(self.links.values())
        for link in links:
            if self._at_fault is not None:
                party, reason = self._at_fault
                link.send_frame(Kind.STOP, bytes([reason, party]))
            link.hang_up()
        # Closing with bytes unread would reset the connection, and the peer might never read our
        # last words.
        if links:
            await asyncio.wait([link.ended for link in links], timeout=_GOODBYE_SECONDS)
        for link in links:
            link.close()


class _Meeting:
    """A synchronisation point, and the payload of each party there."""

    def __init__(self, awaited: list[int]) -> None:
        self.everybody: asyncio.Future[dict[int, bytes]] = (
            asyncio.get_running_loop().create_future()
        )
        self._awaited = awaited
        self._said: dict[int, bytes] = {}

    @property
    def missing(self) -> list[int]:
        """Parties that have not arrived."""
        return [party for party in self._awaited if party not in self._said]

    def came(self, peer: int) -> bool:
        """Whether a party has arrived."""
        return peer in self._said

    def take(self, peer: int, payload: bytes) -> bool:
        """Record a party's payload; False if it was there already."""
        if peer in self._said:
            return False
        self._said[peer] = payload
        if not self.missing:
            self.everybody.set_result(self._said)
        return True
