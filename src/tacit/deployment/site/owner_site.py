"""An owner's machine in a run: it reads signed messages, obeys its policy, charges its clients
first, and responds for them.

For each request the order is: policy, reserve, compute, randomise, store, send. A repeated request
gets the stored bytes again. The owner's log says in full what went wrong; the server receives one
word.
"""

from __future__ import annotations

import json
from contextlib import closing

import numpy as np
from msgspec.structs import replace

from tacit.assembly.negotiated import CLAIM_OF_RANGE
from tacit.client import ClientRandomness
from tacit.codecs.votes.noisy_counts import CountNoise
from tacit.deployment import bodies
from tacit.deployment.agenda import MEASURE, needs_counts
from tacit.deployment.bodies import (
    BeginRequest,
    ClassVectors,
    Counts,
    MeasureResponse,
    NegotiationRequest,
    NegotiationResponse,
    Offer,
    OfferResponse,
    SiteRequest,
    SiteResponse,
)
from tacit.deployment.site import run_opening, stored_runs
from tacit.deployment.site.charges import charge_people, reserve_clients
from tacit.deployment.site.client_parts import delete_parts
from tacit.deployment.site.contacts import ContactBook
from tacit.deployment.site.measures import (
    build_count_noise,
    build_measure_claims,
    find_obstacle,
    find_relation,
    get_rows_per_client,
)
from tacit.deployment.site.models.received_model import receive_model
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.participation import Participation
from tacit.deployment.site.refusals import (
    build_reply_subject,
    check_request_name,
    extract_rules,
    find_refusing_rules,
    find_status,
    format_for_log,
)
from tacit.deployment.site.rows.disclosed_statistics import (
    build_disclosure_entry,
    describe_disclosure,
)
from tacit.deployment.site.rows.row_release import release_rows
from tacit.deployment.site.work_clock import WorkClock
from tacit.errors import (
    BudgetError,
    PolicyError,
    TacitError,
    WireError,
)
from tacit.log_lines import log_context
from tacit.privacy.policy import Receipt, SiteLedger
from tacit.protocol.messages.signed_message import (
    MessageSubject,
    SignedMessage,
    Status,
    read,
    write,
)
from tacit.secure_aggregation.site_sum import SealedVector

_NO_RECEIPT = Receipt(0, bytes(32))


class OwnerSite:
    """A site that responds to requests."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self._runs: dict[str, Participation] = {}
        self._logged = ("", 0)

    def handle(self, data: bytes) -> bytes:
        """Respond to a message; return no bytes if it is malformed or for another site."""
        try:
            message = read(data)
            if message.subject.site != self.owner.name:
                raise WireError(
                    f"the message is for site {message.subject.site!r}, not {self.owner.name!r}"
                )
        except WireError as error:
            self.owner.warn(format_for_log(f"a message was refused: {error}"))
            return b""
        with log_context(run=message.subject.run, round_no=message.subject.round_no):
            return self._reply(message)

    def _reply(self, message: SignedMessage) -> bytes:
        """Respond to a message for this site, or say with one word why not."""
        body, rule, why, receipt = b"", "", "", _NO_RECEIPT
        status: Status = "ok"
        try:
            body, receipt = self._respond(message)
        except TacitError as error:
            status, rule, why = find_status(error), find_refusing_rules(error), str(error)
            if status != "approval":  # its owner is told once, not whenever the server looks
                self.owner.warn(
                    format_for_log(
                        f"{message.subject.kind} of run {message.subject.run} refused: {error}"
                    )
                )
        except Exception as error:  # it may quote a cell, so the server learns only that it failed
            status, why = "failed", type(error).__name__
            self.owner.warn(
                format_for_log(
                    f"{message.subject.kind} of run {message.subject.run} failed: {why}: {error}"
                ),
                "ERROR",
            )
        noted = "ok" if status == "approval" else status
        ContactBook(self.owner.folder).note(message.subject, noted, why)
        return write(
            build_reply_subject(message.subject, status, rule, receipt), body, self.owner.key
        )

    def _respond(self, message: SignedMessage) -> tuple[bytes, Receipt]:
        """The body of the reply, stored before or computed now and stored before it is sent; and
        the ledger's receipt.
        """
        subject = message.subject
        check_request_name(subject)
        if subject.kind == "end":
            return self._end_run(subject, bytes(message.body)), _NO_RECEIPT
        if subject.kind == "model":
            return receive_model(
                self.owner, message, lambda: self._find_run(subject).load_side()
            ), _NO_RECEIPT
        if subject.kind == "open":
            return self._respond_to_offer(message), _NO_RECEIPT
        run = self._find_run(subject)
        run.check_policy()
        if subject.kind == "begin":
            return bodies.pack(run.begin(bytes(message.body))), _NO_RECEIPT
        if subject.kind == "counts":
            return bodies.pack(self._share_counts(run, message)), _NO_RECEIPT
        if subject.kind == "tally":
            vectors = bodies.unpack(message.body, ClassVectors).vectors
            return bodies.pack(run.build_counting().add(vectors)), _NO_RECEIPT
        with closing(self.owner.open_ledger(self.owner.require_policy(), run.plan)) as book:
            book.check_receipt(subject.entries, subject.head)
            body = book.find_response(
                subject.run, subject.round_no, subject.exchange, message.digest
            )
            if body is None:
                self._log_round(subject)
                if subject.kind == "negotiate":
                    body = self._negotiate(run, message, book)
                else:
                    body = self._compute_response(run, message, book)
                self._check_size(body)
                book.store(subject.run, subject.round_no, subject.exchange, message.digest, body)
            return body, book.receipt()

    def _share_counts(self, run: Participation, message: SignedMessage) -> SealedVector:
        """This site's class counts as sealed shares, of the rows and terms that the run has here."""
        run.watch.check()
        begin, counting = bodies.unpack(message.body, BeginRequest), run.build_counting()
        if begin.terms != (run.folder / stored_runs.TERMS).read_bytes():
            raise WireError("request refused: it has other terms than the run began with here")
        return counting.share(begin)

    def _log_round(self, subject: MessageSubject) -> None:
        """Log a round once, at the first request of it that the policy allows."""
        if subject.round_no and self._logged != (subject.run, subject.round_no):
            self._logged = (subject.run, subject.round_no)
            self.owner.tell("works on this round")

    def _respond_to_offer(self, message: SignedMessage) -> bytes:
        """Check an offer against the policy; read the rows only if it is allowed."""
        run = message.subject.run
        made = run_opening.open_run(self.owner, run, bytes(message.body), message.subject.plan)
        self._runs.setdefault(run, made)
        opened = made.respond_to_offer()
        self._record_disclosure(made, opened, run)
        self.owner.tell(
            f"takes part in run {run}: {opened.clients:,} clients, plan {made.plan.name!r}"
        )
        return bodies.pack(opened)

    def _record_disclosure(self, run: Participation, opened: OfferResponse, name: str) -> None:
        """Write into ledger and log what the server is about to learn about the rows."""
        policy = self.owner.require_policy()
        with closing(self.owner.open_ledger(policy, run.plan)) as book:
            facts = build_disclosure_entry(opened, run.plan)
            book.record_cleartext(name, str(self.owner.unit), facts)
        for sentence in describe_disclosure(run.rows, opened.seen.statistics(), policy):
            self.owner.tell(f"run {name}: {sentence}")
        if needs_counts(run.plan):
            self.owner.tell(
                f"run {name}: adds how many rows are alike in each group by secure aggregation over"
                " all sites; server and sites learn the sums"
            )

    def _find_run(self, subject: MessageSubject) -> Participation:
        if stored_runs.has_ended(self.owner, subject.run):
            self._runs.pop(subject.run, None)  # the owner may have ended it in the meantime
        if subject.run not in self._runs:
            self._runs[subject.run] = run_opening.reopen_run(self.owner, subject.run, subject.plan)
        self._runs[subject.run].check_plan(subject.plan)
        return self._runs[subject.run]

    def _negotiate(self, run: Participation, message: SignedMessage, book: SiteLedger) -> bytes:
        """This site's message in a step of the negotiation; clients are charged before their values
        have a part in it.
        """
        subject, built = message.subject, run.load_side(negotiated=False)
        run.agenda.place(subject)
        run.watch.check()
        run.leave_out(book.erased())
        claims = (CLAIM_OF_RANGE,) if subject.exchange == "range" else ()
        reserve_clients(self.owner, book, subject, built, built.site.names, claims)
        run.agenda.take(subject, message.digest)
        received = bodies.unpack(message.body, NegotiationRequest).received
        return bodies.pack(NegotiationResponse(message=run.negotiate(subject.exchange, received)))

    def _compute_response(
        self, run: Participation, message: SignedMessage, book: SiteLedger
    ) -> bytes:
        """Check that the plan implies the request, reserve budgets, compute and randomise."""
        subject, built = message.subject, run.load_side()
        run.agenda.place(subject)
        if subject.kind != "help":  # a helper's sum is of others' shares
            run.watch.check()
        run.leave_out(book.erased())
        if subject.kind == "rows":
            run.agenda.take(subject, message.digest)
            built.refuse_erased_rows()
            reserve_clients(self.owner, book, subject, built, built.site.names)
            release_rows(self.owner, subject.run, built, book)
            return bodies.pack(SiteResponse(frames=built.rows_that_leave()))
        question = bodies.unpack(message.body, SiteRequest)
        if subject.kind == "measure":
            return bodies.pack(self._measure(run, message, question, book))
        exchange, request = (
            built.exchanges[subject.exchange],
            question.request(subject.exchange, subject.round_no),
        )
        if (subject.kind == "help") != exchange.asks_helpers:
            raise WireError(
                f"{subject.kind} {subject.exchange!r}: only helpers are asked for sums of shares,"
                " and for nothing else"
            )
        if exchange.asks_helpers:
            run.agenda.take(subject, message.digest)
            reserve_clients(self.owner, book, subject, built, built.site.names)
            return bodies.pack(SiteResponse(frames=[built.help(exchange, request)]))
        names = request.to.tolist()
        strangers = [name for name in names if name not in built.names]
        if strangers or len(set(names)) != len(names):
            raise WireError(
                "request refused: it must name clients of this site, each once, got"
                f" {f'client {strangers[0]}' if strangers else 'a client twice'}"
            )
        everyone = exchange.count_asked(request, question.everyone)
        claims = exchange.claims(max(1, everyone)) if names else ()
        run.agenda.take(subject, message.digest, built.hash_of_model(exchange, question))
        present = built.select_present(names)
        refused = dict.fromkeys(set(names) - set(present), "owner")
        refused |= dict.fromkeys(
            reserve_clients(
                self.owner,
                book,
                subject,
                built,
                present or built.site.names,
                claims if present else (),
            ),
            "budget",
        )
        willing = request.part(np.array([name for name in names if name not in refused], np.int64))
        clock = WorkClock(self.owner.require_policy().limits.max_minutes_per_round)
        return bodies.pack(built.respond(exchange, willing, claims, refused, clock))

    def _measure(
        self, run: Participation, message: SignedMessage, question: SiteRequest, book: SiteLedger
    ) -> MeasureResponse:
        """Measure the model after a round on held-out rows, as far as the policy allows; clients
        are charged first.
        """
        subject, built, policy = message.subject, run.load_side(), self.owner.require_policy()
        softened = run.plan.server.soften > 0  # the measured model is not the trained one
        run.agenda.take(
            subject, message.digest, None if softened else built.hash_of_model(None, question)
        )
        model = built.model_in(question, subject.round_no + 1)
        answer = MeasureResponse(model=built.site.compute_model_digest(model))
        places, owners = built.counted_rows(get_rows_per_client(policy.measures))
        noise, why = build_count_noise(run.plan, policy), run.no_counts
        if not why and noise is None:
            why = find_obstacle(policy.measures, len(owners), len(set(owners)))
        if not why and owners:
            try:
                claims = build_measure_claims(run.plan, policy, built.claims())
                people = {owner: owner for owner in owners}
                refused = charge_people(self.owner, book, subject, people, claims, is_round=True)
                places = places[[owner not in refused for owner in owners]]
            except BudgetError as error:
                why = str(error)
        if why or not owners:
            reserve_clients(self.owner, book, subject, built, built.site.names)
        if not why:
            right = built.count_right(model, places, subject.round_no + 1) if len(places) else 0
            counts = Counts(rows=len(places), right=right)
            if noise is not None:
                counts, why = self._add_noise(run, message, counts, noise)
            answer = answer if why else replace(answer, counts=counts)
        if why:
            self.owner.warn(f"measure of run {subject.run} after round {subject.round_no:,}: {why}")
        return replace(answer, withheld=extract_rules(why))

    def _add_noise(
        self, run: Participation, message: SignedMessage, counts: Counts, noise: CountNoise
    ) -> tuple[Counts, str]:
        """Add noise to counts; also return why they are not sent, if so. The noisy counts decide
        that, since exact ones would reveal something.
        """
        policy, built, round_no = (
            self.owner.require_policy(),
            run.load_side(),
            message.subject.round_no,
        )
        own, identity = (
            ClientRandomness(run.root(), "site", built.site.epoch),
            built.site.agreement.identity,
        )
        drawn = own.noise(identity, round_no, MEASURE, message.digest.hex())
        rows, right = noise.add(np.array([counts.rows, counts.right], np.int64), drawn).tolist()
        claim = json.dumps(noise.claim(find_relation(built.claims())).to_json()).encode()
        why = find_obstacle(policy.measures, rows, rows // noise.rows_each)
        return Counts(rows=rows, right=right, noise=noise.stddev, claim=claim), why

    def _check_size(self, body: bytes) -> None:
        """Refuse a response that is larger than the policy allows."""
        most = self.owner.require_policy().limits.max_message_bytes
        if len(body) > most:
            raise PolicyError(
                f"limits.max_message_bytes = {most:,}: the response has {len(body):,} bytes;"
                " with server.sum_at = 'site' a site sums its clients' updates first"
            )

    def _end_run(self, subject: MessageSubject, body: bytes) -> bytes:
        """End a run, also one from before a restart, whatever the policy says now. Its charges
        remain.
        """
        if stored_runs.has_ended(self.owner, subject.run):
            return b""
        offer = stored_runs.load_offer(self.owner, subject.run)
        if offer is not None:
            bound = stored_runs.hash_plan(bodies.unpack(offer, Offer))
            stored_runs.refuse_other_plan(subject.run, bound, subject.plan)
            with closing(stored_runs.open_ledger_to_end(self.owner)) as book:
                book.drop_responses(subject.run)
                delete_parts(stored_runs.find_run_folder(self.owner, subject.run), book.erased())
            record, told = stored_runs.check_record_head(self.owner, subject.run, body)
            stored_runs.end_run(self.owner, subject.run, record)
            self.owner.tell(f"run {subject.run} has ended; {told}")
        self._runs.pop(subject.run, None)
        return b""
