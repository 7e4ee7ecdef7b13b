"""One request to several sites under way: what each site must still be sent, and what came back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tacit.deployment.bodies import Body, unpack
from tacit.deployment.server.absence.missed_requests import MissedRequest
from tacit.deployment.server.absence.missing_replies import MissingReply
from tacit.errors import WireError
from tacit.protocol.messages.signed_message import MessageSubject, SignedMessage
from tacit.protocol.observer import StateName


@dataclass(frozen=True, kw_only=True)
class Replies:
    """Replies by site, and for other sites why there is none; `on_malformed` hears of replies with
    another body.
    """

    messages: dict[str, SignedMessage] = field(default_factory=dict)
    missing: dict[str, MissingReply] = field(default_factory=dict)
    on_malformed: Callable[[str, MissingReply], None] = lambda site, why: None

    def bodies(self, kind: type[Body]) -> dict[str, Body]:
        """Decode the replies, ordered by site; a reply with another body counts as missing."""
        found = {}
        for site, message in sorted(self.messages.items()):
            try:
                found[site] = unpack(message.body, kind)
            except WireError as error:
                self.missing[site] = MissingReply(cause="malformed", reason=str(error))
                self.on_malformed(site, self.missing[site])
        return found


@dataclass(frozen=True)
class MessageStep:
    """One message to a site: its subject, its bytes, and the missed request that it makes up for."""

    subject: MessageSubject
    data: bytes
    missed: MissedRequest | None = None


class OpenExchange:
    """The state of one request to several sites: what each site must still be sent, what came back,
    and the least number of replies that the run needs. `undecided` are sites whose owners have not
    decided yet, each with the time at which it first said so.
    """

    def __init__(self, steps: dict[str, list[MessageStep]], now: float, least: int) -> None:
        self.steps, self.began, self.last_reply, self.least = steps, now, now, least
        self.waiting, self.found = set(steps), Replies()
        self.last_sent: dict[str, float] = {}
        self.asked: set[str] = set()
        self.marks: dict[str, str] = {}
        self.shown: dict[str, StateName] = {}
        self.undecided: dict[str, float] = {}

    def seconds_since_reply(self, now: float) -> float:
        """Seconds since the last reply came, or since the request was sent."""
        return now - self.last_reply
