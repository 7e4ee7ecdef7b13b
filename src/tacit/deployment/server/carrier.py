"""The carrier between real sites: requests go out as signed messages, clients' responses come back
and are added in the order of names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit.deployment import bodies
from tacit.deployment.agenda import MEASURE
from tacit.deployment.bodies import MeasureResponse, SiteRequest, SiteResponse, Terms
from tacit.deployment.server.absence.missing_replies import (
    NOT_REPEATABLE,
    build_quorum_error,
    clean_rule_names,
    list_reasons,
)
from tacit.deployment.server.messenger import Messenger
from tacit.deployment.server.open_exchange import Replies
from tacit.errors import RunError, WireError
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake, split_into_chunks
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.site_sums import name_site_sum, receive_site_sum
from tacit.protocol.merge_tree import merge_block
from tacit.protocol.messages import Frame
from tacit.protocol.messages.signed_message import SignedMessage
from tacit.protocol.round import (
    Exchange,
    Gathered,
    Names,
    Refusal,
    Request,
    RoundLost,
    Tick,
    gather,
)


class SitesCarrier:
    """Takes exchanges to the sites of a run.

    `asked_before` is the last round in which sites may have answered requests from before a resume.
    In a later round a site that says so is not believed: the round would be charged and lost.
    """

    def __init__(
        self, messenger: Messenger, terms: Terms, agreement: Agreement, with_rows: Names
    ) -> None:
        self.messenger, self.terms, self.agreement = messenger, terms, agreement
        self.clients, self.asked_before = terms.clients, 0
        self._with_rows = np.zeros(self.clients, np.bool_)
        self._with_rows[with_rows] = True

    def willing(self, cohort: Names) -> Names:
        """The clients of the cohort that have rows to train on."""
        return cohort[self._with_rows[cohort]]

    def carry(self, exchange: Exchange, request: Request, tick: Tick) -> Gathered:
        """The sum of the clients' responses; raise RunError if too few sites responded."""
        if exchange.asks_helpers:
            return self._helped(exchange, request)
        self._wait_for_helpers(exchange.name, request.round_no)
        questions = self._questions(request)
        sizes = {site: len(question.to) // 8 for site, question in questions.items()}
        done = 0

        def heard(site: str) -> None:
            nonlocal done
            done += sizes[site]
            tick(done)

        sent = {site: bodies.pack(question) for site, question in questions.items()}
        least = min(self.messenger.settings.min_sites, len(sent))
        replies = self.messenger.request(
            "ask", request.round_no, exchange.name, sent, heard, least=least
        )
        self._keep_missed(request, sent, replies)
        self._check_quorum(exchange.name, request.round_no, replies, least)
        return replace(
            self._added(exchange, request, replies), bytes_down=sum(map(len, sent.values()))
        )

    def read(self, request: Request) -> None:
        """None: the server must not know what only clients can decode."""
        return None

    def measured(
        self, request: Request, round_no: int
    ) -> tuple[dict[str, MeasureResponse], dict[str, str]]:
        """The evaluation of the model after a round at each site, and which of them send no counts,
        and why.

        `request` carries the model as the next round would.
        """
        question = bodies.pack(SiteRequest.of(request, np.empty(0, np.int64), 0))
        asked = {member.site: question for member in self.terms.members}
        replies = self.messenger.request("measure", round_no, MEASURE, asked, least=1)
        found = replies.bodies(MeasureResponse)
        withheld = {
            site: f"its owner's policy sends no counts ({clean_rule_names(one.withheld)})"
            for site, one in found.items()
            if one.counts is None
        }
        return found, withheld

    def _questions(self, request: Request) -> dict[str, SiteRequest]:
        """The request to each site; where clients decode the model, every site receives every
        round.
        """
        everyone, found = len(request.to), {}
        for member in self.terms.members:
            own = request.to[
                (request.to >= member.first) & (request.to < member.first + member.clients)
            ]
            if len(own) or self.agreement.codec.decoded_by == "clients":
                found[member.site] = SiteRequest.of(request, own, everyone)
        return found

    def _wait_for_helpers(self, exchange: str, round_no: int) -> None:
        """Ask no client while a helper is absent: without its part the round would be lost."""
        if not self.terms.helps:
            return
        away = self.messenger.wait_for(self.terms.helps, round_no, exchange)
        if away:
            raise RunError(
                f"round {round_no}, {exchange}: {', '.join(away)} helped to sum updates securely and"
                f" did not return within {self.messenger.settings.deadline:g} seconds; no site was"
                f" asked in this round; `tacit deploy run --resume {self.terms.run}` continues when it"
                " is back"
            )

    def _keep_missed(self, request: Request, sent: dict[str, bytes], replies: Replies) -> None:
        """Where clients decode the model, keep the sum for each site that did not receive it.

        A site that was never asked receives the sum alone, so that no client trains in vain; one
        that may have been asked receives the same request again.
        """
        if self.agreement.codec.decoded_by != "clients":
            return
        nobody = bodies.pack(SiteRequest.of(request, np.empty(0, np.int64), 0))
        for site, why in replies.missing.items():
            if why.cause in ("absent", "late"):
                body = sent[site] if why.asked else nobody
                self.messenger.missed.add_sum(site, request.round_no, request.exchange, body)

    def _check_quorum(self, exchange: str, round_no: int, replies: Replies, least: int) -> None:
        """Raise RoundLost if enough sites are there, but answered another request of this round
        before; the error of `build_quorum_error` if too few are there.
        """
        got, missing = len(replies.messages), replies.missing
        if got >= least:
            return
        before = [site for site, why in missing.items() if why.cause in NOT_REPEATABLE]
        if got + len(before) >= least and round_no <= self.asked_before:
            raise RoundLost(
                f"{', '.join(sorted(before))} had answered another request of it before the run"
                " was stopped"
            )
        message = (
            f"round {round_no}, {exchange}: needs {least} sites, got {got}"
            f" ({list_reasons(missing)}); nothing is lost: `tacit deploy run --resume"
            f" {self.terms.run}` continues when they are back, and with --min-sites {max(1, got)}"
            " without them"
        )
        raise build_quorum_error(message, least, got, missing)

    def _added(self, exchange: Exchange, request: Request, replies: Replies) -> Gathered:
        refused = list[Refusal]()
        frames: dict[int, Frame] = {}
        sums: list[tuple[str, Frame]] = []
        for site, reply in sorted(replies.messages.items()):
            refused += self._taken(site, reply, exchange, frames, sums)
        intake = Intake(
            request.to.tolist(),
            request.round_no,
            self.agreement.largest_weight,
            commitments=request.commitments,
            everyone=request.to,
        )
        found = Gathered(total=exchange.empty(), clients=0, bytes_up=0, refused=tuple(refused))
        for site, frame in sums:
            found = self._with_sum(found, intake, site, frame)
        chunks = list(split_into_chunks(request.to))
        if not chunks:
            return found

        def add(chunk: Names) -> Gathered:
            here = [frames[name] for name in chunk.tolist() if name in frames]
            return gather(exchange, intake, here)

        return found.merged(merge_block(chunks, add))

    def _taken(
        self,
        site: str,
        reply: SignedMessage,
        exchange: Exchange,
        frames: dict[int, Frame],
        sums: list[tuple[str, Frame]],
    ) -> list[Refusal]:
        """Sort a site's messages by sender, which must be one of its own clients; return the
        refusals.
        """
        member, refused = self.terms.find_member(site), list[Refusal]()
        try:
            answers = bodies.unpack(reply.body, SiteResponse)
        except WireError as error:
            return [Refusal(sender=f"site {site}", reason=str(error))]
        most = max(1, member.clients)
        if len(answers.frames) > most:
            why = (
                f"it sent {len(answers.frames):,} messages, of which {most:,} are read, as many as"
                " it has clients"
            )
            refused.append(Refusal(sender=f"site {site}", reason=why))
        reasons = {
            "budget": "its owner's ledger has no budget left for it",
            "ledger": "its own ledger does not let it answer",
        }
        own = range(member.first, member.first + member.clients)
        said = {
            name: why for name, why in answers.refused if name in own
        }  # a site speaks for its own clients, once for each
        refused += [
            Refusal(sender=name, reason=reasons.get(why, "it does not answer"))
            for name, why in said.items()
        ]
        if len(said) < len(answers.refused):
            refused.append(
                Refusal(
                    sender=f"site {site}",
                    reason="it must name its own clients, once each, as those who refuse",
                )
            )
        for head, body in answers.frames[:most]:
            frame = head, memoryview(body)
            try:
                header = messages.parse(*frame).header
                if self.agreement.sum_at_site and header.codec == name_site_sum(self.agreement):
                    sums.append((site, frame))
                    continue
                if header.sender not in own or header.sender in frames:
                    raise WireError(
                        f"answer from sender {header.sender} refused: needs a client of site"
                        f" {site!r}, once"
                    )
                frames[header.sender] = frame
            except WireError as error:
                refused.append(Refusal(sender=f"site {site}", reason=str(error)))
        return refused

    def _with_sum(self, found: Gathered, intake: Intake, site: str, frame: Frame) -> Gathered:
        """Add a site's own sum, if all its clients belong to the site and none has responded yet."""
        member, total, size = self.terms.find_member(site), found.total, messages.size(frame)
        try:
            count = receive_site_sum(
                self.agreement,
                intake,
                total,
                frame,
                range(member.first, member.first + member.clients),
            )
        except WireError as error:
            more = Refusal(sender=f"site {site}", reason=str(error))
            return replace(found, refused=(*found.refused, more))
        return replace(found, clients=found.clients + count, bytes_up=found.bytes_up + size)

    def _helped(self, exchange: Exchange, request: Request) -> Gathered:
        """Collect the parts of the helpers, which are sites of the run."""
        numbers = {self.terms.helps[number - 1]: number for number in request.to.tolist()}
        body = bodies.pack(SiteRequest.of(request, np.empty(0, np.int64), 0))
        replies = self.messenger.request(
            "help", request.round_no, exchange.name, dict.fromkeys(numbers, body)
        )
        intake, total, bytes_up = (
            Intake(request.to.tolist(), request.round_no, self.clients),
            exchange.empty(),
            0,
        )
        total.refused += [
            Refusal(sender=numbers[site], reason=why.reason)
            for site, why in sorted(replies.missing.items())
        ]
        for site, reply in sorted(replies.messages.items()):
            try:
                frames = bodies.unpack(reply.body, SiteResponse).frames
                if len(frames) != 1:
                    raise WireError(
                        f"a helper sends exactly one part of the sum, got {len(frames):,}"
                    )
                frame: Any = (frames[0][0], memoryview(frames[0][1]))
                bytes_up += messages.size(frame)
                messages.expect(
                    messages.parse(*frame), sender=numbers[site]
                )  # a helper speaks for itself
                exchange.receive(intake, total, frame)
            except WireError as error:
                total.refused.append(Refusal(sender=numbers[site], reason=str(error)))
        return Gathered(total=total, clients=0, bytes_up=bytes_up)
