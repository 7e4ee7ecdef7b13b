"""Requests to several sites and their replies: a request is repeated while a site is silent, until
a deadline, and every reply is checked.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from tacit.deployment.bodies import Body, unpack
from tacit.deployment.server.receipts import Receipts
from tacit.errors import WireError
from tacit.protocol.messages.signed_message import (
    Kind,
    MessageSubject,
    SignedMessage,
    expect,
    read,
    write,
)


class SiteTransport(Protocol):
    """Delivers messages to sites and returns replies; knows nothing about their content."""

    def online(self) -> dict[str, bool]:
        """Every site that may take part, by name, and whether it can be reached now."""

    def send(self, site: str, message: bytes) -> str:
        """Send a message; return an id by which its reply is recognised."""

    def collect(self) -> list[tuple[str, bytes | None]]:
        """The replies that have arrived, by the ids of their messages; None where a message could
        not be delivered.
        """

    def close(self, done: bool) -> None:
        """Close the connection; `done` says whether the run has ended."""


@dataclass(frozen=True, kw_only=True)
class RequestSettings:
    """How many sites a run needs, how many seconds it waits for an exchange, after how many it
    repeats a request to a silent site, and how often it polls.
    """

    min_sites: int = 1
    deadline: float = 600.0
    retry_after: float = 20.0
    poll_interval: float = 0.2


@dataclass(frozen=True, kw_only=True)
class Replies:
    """Replies by site, and for other sites why there is none, in words for the record."""

    messages: dict[str, SignedMessage] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def bodies(self, kind: type[Body]) -> dict[str, Body]:
        """Decode the replies, ordered by site; a reply with another body counts as missing."""
        found = {}
        for site, message in sorted(self.messages.items()):
            try:
                found[site] = unpack(message.body, kind)
            except WireError as error:
                self.missing[site] = str(error)
        return found


class Messenger:
    """The messages of one run. `keys` are the public keys of the sites; a reply signed with another
    key is not read. `receipts` say how far the ledgers of sites have come.
    """

    def __init__(
        self,
        transport: SiteTransport,
        settings: RequestSettings,
        run: str,
        plan: bytes,
        keys: Mapping[str, EllipticCurvePublicKey],
        receipts: Receipts,
    ) -> None:
        self.transport, self.settings, self.run, self.plan, self.keys, self.receipts = (
            transport,
            settings,
            run,
            plan,
            keys,
            receipts,
        )
        self.rejected: Counter[str] = Counter()
        self.on_rejected: Callable[[str, str], None] = lambda site, why: None

    def request(
        self,
        kind: Kind,
        round_no: int,
        exchange: str,
        sent: Mapping[str, bytes],
        tick: Callable[[str], None] = lambda site: None,
    ) -> Replies:
        """Send each site its request and return the replies; `tick` is called with every site that
        has replied.

        Guarantees: every returned reply is signed by its site and belongs to this request. Any
        other reply is refused, recorded and counted, and the site may still respond until the
        deadline.
        """
        subjects = {site: self._subject(kind, site, round_no, exchange) for site in sent}
        messages = {site: write(subject, sent[site]) for site, subject in subjects.items()}
        waiting, last_sent, marks = set(sent), dict[str, float](), dict[str, str]()
        found, end = Replies(), time.monotonic() + self.settings.deadline
        while waiting and time.monotonic() < end:
            for site in self._to_send(waiting, last_sent):
                marks[self.transport.send(site, messages[site])] = site
                last_sent[site] = time.monotonic()
            for mark, data in self.transport.collect():
                site = marks.pop(mark, "")
                if site not in waiting:
                    continue
                if data is None:
                    last_sent.pop(
                        site, None
                    )  # not delivered: send it again as soon as the site is there
                    continue
                reply = self._checked(site, subjects[site], data)
                if reply is None:
                    continue
                waiting.discard(site)
                tick(site)
                self._sort(found, site, reply)
            if waiting:
                time.sleep(self.settings.poll_interval)
        for site in waiting:
            found.missing[site] = f"no valid reply within {self.settings.deadline:g} seconds"
        self.receipts.keep()
        return found

    def _to_send(self, waiting: set[str], last_sent: dict[str, float]) -> list[str]:
        """The sites to send to now: those not contacted yet, and those silent for too long."""
        now = time.monotonic()
        due = [
            site
            for site in sorted(waiting)
            if now - last_sent.get(site, float("-inf")) > self.settings.retry_after
        ]
        if not due:
            return []
        online = self.transport.online()
        return [site for site in due if online.get(site)]

    def _subject(self, kind: Kind, site: str, round_no: int, exchange: str) -> MessageSubject:
        entries, head = self.receipts.of(site)
        return MessageSubject(
            kind=kind,
            run=self.run,
            plan=self.plan,
            site=site,
            round_no=round_no,
            exchange=exchange,
            nonce=os.urandom(16),
            entries=entries,
            head=head,
        )

    def _checked(self, site: str, asked: MessageSubject, data: bytes) -> SignedMessage | None:
        """A valid reply; None, with a note, for any other."""
        try:
            reply = read(data)
            wanted = {
                key: getattr(asked, key)
                for key in ("kind", "run", "plan", "site", "round_no", "exchange", "nonce")
            }
            expect(reply, **wanted)
            reply.check_signature(self.keys[site])
            if not reply.subject.status:
                raise WireError(f"message of site {site!r} refused: it has no status")
            self.receipts.take(site, reply.subject)
            return reply
        except WireError as error:
            self.rejected[site] += 1
            self.on_rejected(site, str(error))
            return None

    def _sort(self, found: Replies, site: str, reply: SignedMessage) -> None:
        status, rule = reply.subject.status, reply.subject.rule
        if status == "ok":
            found.messages[site] = reply
        else:
            found.missing[site] = (
                f"{REASONS[status]}{f' ({clean_rule_names(rule)})' if rule else ''}"
            )


def clean_rule_names(text: str) -> str:
    """The policy keys that a site names, for the record; anything else is not quoted."""
    return text if re.fullmatch(r"[A-Za-z0-9_.,/ -]*", text) else "it names no line of a policy"


REASONS = {
    "policy": "its owner's policy does not allow it",
    "budget": "its owner's ledger has no budget left for it",
    "data": "its rows are not as the plan says",
    "rows changed": "its rows have changed since the run began",
    "question": "it refuses the request",
    "unknown run": "it cannot take the run up",
    "failed": "it failed; its own log says why",
}
"""What the server says where a site gives a word."""
