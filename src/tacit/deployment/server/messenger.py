"""Requests to several sites and their replies: a request is repeated while a site is silent, until
a deadline, and every reply is checked. Nobody waits for a site that has left.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from tacit.deployment.server.absence.missed_requests import MissedRequests
from tacit.deployment.server.absence.missing_replies import (
    REASONS,
    ApprovalOutcome,
    Cause,
    MissingReply,
    clean_rule_names,
)
from tacit.deployment.server.absence.presence import SECONDS_BETWEEN_LOOKS, Presence
from tacit.deployment.server.open_exchange import MessageStep, OpenExchange, Replies
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
from tacit.protocol.observer import SiteState, StateName

SECONDS_BETWEEN_QUESTIONS = 5.0
"""How often a site is asked again whose owner has not decided."""


class SiteTransport(Protocol):
    """Delivers messages to sites and returns replies; knows nothing about their content."""

    def online(self) -> dict[str, bool]:
        """Every site that may take part, by name, and whether it can be reached now."""

    def send(self, site: str, message: bytes) -> str:
        """Send a message; return an id by which its reply is recognised."""

    def collect(self) -> list[tuple[str, bytes | None]]:
        """The replies that have arrived, by the ids of their messages; None where a message could
        not be delivered. It may wait for the first reply, for less than a second.
        """

    def close(self, done: bool) -> None:
        """Close the connection; `done` says whether the run has ended."""


@dataclass(frozen=True, kw_only=True)
class RequestSettings:
    """How many sites a run needs, how many seconds it waits for an exchange, after how many it
    repeats a request to a silent site, how often it polls, and how many seconds it waits, once,
    for the return of a site that has left. `approval_wait` is how many seconds it waits, before round
    one, for an owner who decides about each run.
    """

    min_sites: int = 1
    deadline: float = 600.0
    retry_after: float = 20.0
    poll_interval: float = 0.2
    grace: float = 4.0
    approval_wait: float = 86_400.0


class Messenger:
    """The messages of one run. `keys` are the public keys of the sites; a reply signed with another
    key is not read. `receipts` say how far the ledgers of sites have come, `missed` what an absent
    site must receive before it is asked again.
    """

    def __init__(
        self,
        transport: SiteTransport,
        settings: RequestSettings,
        run: str,
        plan: bytes,
        keys: Mapping[str, EllipticCurvePublicKey],
        receipts: Receipts,
        missed: MissedRequests,
    ) -> None:
        self.transport, self.settings, self.run, self.plan = transport, settings, run, plan
        self.keys, self.receipts, self.missed = keys, receipts, missed
        self.presence = Presence(settings.grace)
        self.rejected: Counter[str] = Counter()
        self.on_rejected: Callable[[str, str], None] = lambda site, why: None
        self.on_missing: Callable[[int, str, str, MissingReply], None] = lambda *_: None
        self.on_state: Callable[[SiteState], None] = lambda state: None
        self.on_decided: Callable[[str, str, ApprovalOutcome, float], None] = lambda *_: None
        self._last_look = float("-inf")

    def request(
        self,
        kind: Kind,
        round_no: int,
        exchange: str,
        sent: Mapping[str, bytes],
        tick: Callable[[str], None] = lambda site: None,
        *,
        least: int | None = None,
    ) -> Replies:
        """Send each site its request and return the replies; `tick` is called with every site that
        has replied.

        It waits until the deadline, but not for sites that have left if `least` replies (by
        default all) are there, or cannot be reached any more.

        Guarantees: every returned reply is signed by its site and belongs to this request. Any
        other reply is refused, recorded and counted, and the site may still respond until the
        deadline.
        """
        least = len(sent) if least is None else least
        opened = OpenExchange(
            {site: self._plan_steps(kind, site, round_no, exchange, sent[site]) for site in sent},
            time.monotonic(),
            least,
        )
        self._last_look = float("-inf")
        while self._give_up_late(opened) and opened.waiting:
            self._look(opened)
            self._send(opened)
            moment = time.monotonic()
            collected = self.transport.collect()
            for mark, data in collected:
                self._take(opened, opened.marks.pop(mark, ""), data, tick)
            if self._is_over(opened):
                break
            if opened.waiting and all(data is None for _, data in collected):
                time.sleep(max(0.0, moment + self.settings.poll_interval - time.monotonic()))
        for site in sorted(opened.waiting):
            self._note_silence(opened, site)
        for site in sorted(opened.undecided):
            self._note_decision(opened, exchange, site)
        for site, why in sorted(opened.found.missing.items()):
            self.on_missing(round_no, exchange, site, why)
        self.receipts.keep()
        return replace(
            opened.found, on_malformed=lambda *found: self.on_missing(round_no, exchange, *found)
        )

    def wait_for(self, sites: list[str], round_no: int, exchange: str) -> list[str]:
        """Wait until all these sites are online, until the deadline; return those that are not."""
        end, shown = time.monotonic() + self.settings.deadline, set[str]()
        while True:
            moment = time.monotonic()
            self.presence.update(self.transport.online(), moment)
            away = [site for site in sites if not self.presence.is_online(site)]
            if not away or moment >= end:
                return away
            for site in sorted({*away} - shown):
                self._show(self._subject("help", site, round_no, exchange), "absent", end - moment)
            shown |= {*away}
            time.sleep(max(self.settings.poll_interval, 0.01))

    def _plan_steps(
        self, kind: Kind, site: str, round_no: int, exchange: str, body: bytes
    ) -> list[MessageStep]:
        """The messages to a site: what it missed, then the request itself."""
        steps = []
        if kind in ("ask", "help", "measure"):
            before = round_no + (kind == "measure")
            for one in self.missed.list_for(site, before):
                subject = self._subject(one.kind, site, one.round_no, one.exchange)
                steps.append(MessageStep(subject, write(subject, one.body), one))
        subject = self._subject(kind, site, round_no, exchange)
        return [*steps, MessageStep(subject, write(subject, body))]

    def _look(self, opened: OpenExchange) -> None:
        """Ask the transport who is online, once a second at most, and show who has left."""
        moment = time.monotonic()
        if moment - self._last_look < SECONDS_BETWEEN_LOOKS:
            return
        self._last_look = moment
        self.presence.update(self.transport.online(), moment)
        there = sum(map(self.presence.is_online, opened.waiting)) + len(opened.found.messages)
        for site in sorted(opened.waiting):
            if not self.presence.is_online(site) and opened.shown.get(site) != "absent":
                opened.shown[site] = "absent"
                left = opened.began + self.settings.deadline - moment
                if there >= opened.least:
                    left = max(0.0, min(left, self.presence.count_seconds_left(site, moment)))
                self._show(opened.steps[site][-1].subject, "absent", left)

    def _is_over(self, opened: OpenExchange) -> bool:
        """Whether all sites that are left in an exchange are absent, and it need not or cannot be
        completed.
        """
        moment, got = time.monotonic(), len(opened.found.messages)
        if not all(self.presence.has_left(site, moment) for site in opened.waiting):
            return False
        return got >= opened.least or got + len(opened.waiting) < opened.least

    def _find_end(self, opened: OpenExchange, site: str) -> float:
        """When the server stops waiting for a site."""
        if site in opened.undecided:
            return opened.undecided[site] + self.settings.approval_wait
        return opened.began + self.settings.deadline

    def _give_up_late(self, opened: OpenExchange) -> bool:
        """Note the silence of sites whose time is over, while the others are waited for; False once
        it is over for all.
        """
        moment = time.monotonic()
        late = {site for site in opened.waiting if moment >= self._find_end(opened, site)}
        if late == opened.waiting:
            return False
        for site in sorted(late):
            opened.waiting.discard(site)
            self._note_silence(opened, site)
        return True

    def _send(self, opened: OpenExchange) -> None:
        """Send to the sites not contacted yet, and to those silent for too long."""
        moment = time.monotonic()
        for site in sorted(opened.waiting):
            silent = moment - opened.last_sent.get(site, float("-inf"))
            is_undecided = site in opened.undecided
            pause = min(
                self.settings.retry_after, SECONDS_BETWEEN_QUESTIONS if is_undecided else 1e9
            )
            if silent <= pause or not self.presence.is_online(site):
                continue
            step = opened.steps[site][0]
            opened.marks[self.transport.send(site, step.data)] = site
            opened.last_sent[site] = time.monotonic()
            if step.missed is None:
                opened.asked.add(site)
            opened.shown[site] = "undecided" if is_undecided else "asked"
            left = self._find_end(opened, site) - moment
            self._show(opened.steps[site][-1].subject, opened.shown[site], left)

    def _take(
        self, opened: OpenExchange, site: str, data: bytes | None, tick: Callable[[str], None]
    ) -> None:
        """Take one reply: to what a site had missed, or to the request itself."""
        if site not in opened.waiting:
            return
        if data is None:
            opened.last_sent.pop(site, None)  # not delivered: send it again when the site is there
            return
        step = opened.steps[site][0]
        reply = self._checked(site, step.subject, data)
        if reply is None:
            return
        if step.missed is not None:
            self.missed.settle(site, step.missed)
            opened.steps[site].pop(0)
            opened.last_sent.pop(site, None)
            return
        if reply.subject.status == "approval" and step.subject.kind in ("open", "begin"):
            opened.undecided.setdefault(site, time.monotonic())
            left = self._find_end(opened, site) - time.monotonic()
            self._show(reply.subject, "undecided", left)
            return
        opened.waiting.discard(site)
        if step.subject.kind == "ask":
            self.missed.drop_round(site, step.subject.round_no)
        tick(site)
        self._sort(opened, site, reply)

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

    def _sort(self, opened: OpenExchange, site: str, reply: SignedMessage) -> None:
        """Keep a reply, or the reason that it gives for there being none."""
        status, rule, seconds = (
            reply.subject.status,
            reply.subject.rule,
            opened.seconds_since_reply(time.monotonic()),
        )
        opened.last_reply = time.monotonic()
        if status == "" or status == "ok":
            opened.found.messages[site] = reply
            self._show(reply.subject, "replied", seconds)
            return
        reason = f"{REASONS[status]}{f' ({clean_rule_names(rule)})' if rule else ''}"
        opened.found.missing[site] = MissingReply(cause=status, reason=reason)
        self._show(reply.subject, "refused", seconds, reason)

    def _note_silence(self, opened: OpenExchange, site: str) -> None:
        """Say why a site that did not reply is missing."""
        cause: Cause
        state: StateName = "absent"
        asked = site in opened.asked
        if site in opened.undecided and self.presence.is_registered(site):
            cause, state = "approval", "late"
            reason = (
                f"its owner has not decided within {self.settings.approval_wait:g} seconds"
                if self.presence.is_online(site)
                else "it left before its owner decided"
            )
        elif not self.presence.is_registered(site):
            cause, reason = "revoked", "the server does not admit it"
        elif not self.presence.is_online(site):
            cause, reason = "absent", "it left before it replied" if asked else "it is absent"
        else:
            cause, state = "late", "late"
            reason = f"no valid reply within {self.settings.deadline:g} seconds"
        seconds = opened.seconds_since_reply(time.monotonic())
        opened.found.missing[site] = MissingReply(
            cause=cause, reason=reason, seconds=seconds, asked=asked
        )
        self._show(opened.steps[site][-1].subject, state, seconds, reason)

    def _note_decision(self, opened: OpenExchange, exchange: str, site: str) -> None:
        """Say what an owner decided whom the run waited for, and how long it waited."""
        outcome: ApprovalOutcome = "approved" if site in opened.found.messages else "undecided"
        if site in opened.found.missing and opened.found.missing[site].cause == "policy":
            outcome = "refused"
        self.on_decided(exchange, site, outcome, time.monotonic() - opened.undecided[site])

    def _show(
        self, subject: MessageSubject, state: StateName, seconds: float, reason: str = ""
    ) -> None:
        self.on_state(
            SiteState(
                site=subject.site,
                round_no=subject.round_no,
                exchange=subject.exchange,
                state=state,
                seconds=seconds,
                reason=reason,
            )
        )
