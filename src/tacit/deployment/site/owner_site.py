"""An owner's machine in a run: it reads letters, obeys its policy, pays first, and answers for its
clients.

For each letter the order is: policy, reserve, compute, randomise, store, send. A letter that was
answered before gets the stored bytes again. What goes wrong is told to the owner in full and to the
server in one word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TypeVar

import numpy as np
from msgspec.structs import replace

from tacit.client import ClientRandomness
from tacit.codecs.votes.noisy_counts import CountNoise
from tacit.deployment import bodies
from tacit.deployment.agenda import MEASURE
from tacit.deployment.bodies import (
    Counts,
    MeasureResponse,
    OfferResponse,
    SiteRequest,
    SiteResponse,
)
from tacit.deployment.site import participation
from tacit.deployment.site.measures import (
    build_count_noise,
    build_measure_claims,
    find_obstacle,
    find_relation,
    get_rows_per_client,
)
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.participation import Participation
from tacit.deployment.site.rows.disclosed_statistics import (
    build_disclosure_entry,
    describe_disclosure,
)
from tacit.deployment.site.rows.row_release import release_rows
from tacit.deployment.site.work_clock import WorkClock
from tacit.errors import (
    BudgetError,
    DataError,
    PlanError,
    PolicyError,
    RunError,
    TacitError,
    WireError,
)
from tacit.printable import printable
from tacit.privacy.claim import Claim
from tacit.privacy.policy import Policy, Receipt, SiteLedger
from tacit.protocol.exchanges.disclose_rows import DiscloseRows
from tacit.protocol.messages.signed_message import (
    MessageSubject,
    SignedMessage,
    Status,
    read,
    write,
)

Claims = tuple[Claim, ...]
Who = TypeVar("Who")
_MOST_LINES, _LONGEST_LINE = 20, 1000
"""What one request may write into the owner's log."""
_NO_RECEIPT = Receipt(0, bytes(32))


class OwnerSite:
    """A site that answers letters."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self._runs: dict[str, Participation] = {}

    def handle(self, data: bytes) -> bytes:
        """Return the reply to a letter; nothing if it is no letter."""
        try:
            message = read(data)
            if message.subject.site != self.owner.name:
                raise WireError(
                    f"letter refused: needs site {self.owner.name!r}, got {message.subject.site!r}"
                )
        except WireError as error:
            self.owner.tell(_in_log(f"a letter was refused: {error}"))
            return b""
        body, rule, receipt = b"", "", _NO_RECEIPT
        status: Status = "ok"
        try:
            body, receipt = self._answered(message)
        except TacitError as error:
            status, rule = _status_of(error), _rule_of(error)
            self.owner.tell(
                _in_log(f"{message.subject.kind} of run {message.subject.run} refused: {error}")
            )
        except Exception as error:  # what nobody foresaw may quote a cell of the data: the server hears that it failed
            status = "failed"
            self.owner.tell(
                _in_log(
                    f"{message.subject.kind} of run {message.subject.run} failed:"
                    f" {type(error).__name__}: {error}"
                )
            )
        return write(_reply(message.subject, status, rule, receipt), body, self.owner.key)

    def _answered(self, message: SignedMessage) -> tuple[bytes, Receipt]:
        """Return the body of the reply, as it is stored, or made now and stored before it leaves;
        and how far the ledger came.
        """
        subject = message.subject
        _check_name(subject)
        if subject.kind == "end":
            return self._ended(subject, bytes(message.body)), _NO_RECEIPT
        if subject.kind == "open":
            return self._opened(message), _NO_RECEIPT
        run = self._run(subject)
        run.check_policy()
        if subject.kind == "begin":
            return bodies.pack(run.begin(bytes(message.body))), _NO_RECEIPT
        with closing(self.owner.open_ledger(self.owner.require_policy(), run.plan)) as book:
            book.check_receipt(subject.entries, subject.head)
            body = book.find_response(
                subject.run, subject.round_no, subject.exchange, message.digest
            )
            if body is None:
                body = self._made(run, message, book)
                self._check_size(body)
                book.store(subject.run, subject.round_no, subject.exchange, message.digest, body)
            return body, book.receipt()

    def _opened(self, message: SignedMessage) -> bytes:
        """Look at an offer, and only if the policy allows it at the rows."""
        run = message.subject.run
        made = participation.open_run(self.owner, run, bytes(message.body), message.subject.plan)
        self._runs.setdefault(run, made)
        opened = made.respond_to_offer()
        self._note_told(made, opened, run)
        self.owner.tell(
            f"takes part in run {run}: {opened.clients:,} clients, plan {made.plan.name!r}"
        )
        return bodies.pack(opened)

    def _note_told(self, run: Participation, opened: OfferResponse, name: str) -> None:
        """Write into ledger and log what the server is about to be told of the rows."""
        policy = self.owner.require_policy()
        with closing(self.owner.open_ledger(policy, run.plan)) as book:
            book.record_cleartext(name, str(self.owner.unit), build_disclosure_entry(opened))
        for sentence in describe_disclosure(run.rows, opened.seen.statistics(), policy):
            self.owner.tell(f"run {name}: {sentence}")

    def _run(self, subject: MessageSubject) -> Participation:
        if participation.has_ended(self.owner, subject.run):
            self._runs.pop(subject.run, None)  # its owner may have ended it meanwhile
        if subject.run not in self._runs:
            self._runs[subject.run] = participation.reopen_run(
                self.owner, subject.run, subject.plan
            )
        self._runs[subject.run].check_plan(subject.plan)
        return self._runs[subject.run]

    def _made(self, run: Participation, message: SignedMessage, book: SiteLedger) -> bytes:
        """Check that the plan implies a request, reserve, compute and randomise."""
        subject, built = message.subject, run.load_side()
        run.agenda.place(subject)
        if subject.kind == "rows":
            run.agenda.take(subject, message.digest)
            self._reserve(run, book, subject, built.site.names, ())
            release_rows(self.owner, subject.run, built, book)
            return bodies.pack(SiteResponse(frames=built.rows_that_leave()))
        question = bodies.unpack(message.body, SiteRequest)
        if subject.kind == "measure":
            return bodies.pack(self._measured(run, message, question, book))
        exchange, request = (
            built.exchanges[subject.exchange],
            question.request(subject.exchange, subject.round_no),
        )
        if (subject.kind == "help") != exchange.asks_helpers:
            raise WireError(
                f"{subject.kind} {subject.exchange!r}: helpers are asked for sums of shares,"
                " clients for everything else"
            )
        if exchange.asks_helpers:
            run.agenda.take(subject, message.digest)
            self._reserve(run, book, subject, built.site.names, ())
            return bodies.pack(SiteResponse(frames=[built.help(exchange, request)]))
        names = request.to.tolist()
        strangers = [name for name in names if name not in built.names]
        if strangers or len(set(names)) != len(names):
            raise WireError(
                "question refused: needs clients of this site, each once, got"
                f" {strangers[:1] or 'others'}"
            )
        everyone = exchange.count_asked(request, question.everyone)
        claims = exchange.claims(max(1, everyone)) if names else ()
        run.agenda.take(subject, message.digest, built.hash_of_model(exchange, question))
        refused = dict.fromkeys(
            self._reserve(run, book, subject, names or built.site.names, claims), "budget"
        )
        willing = request.part(np.array([name for name in names if name not in refused], np.int64))
        clock = WorkClock(self.owner.require_policy().limits.max_minutes_per_round)
        return bodies.pack(built.respond(exchange, willing, claims, refused, clock))

    def _measured(
        self, run: Participation, message: SignedMessage, question: SiteRequest, book: SiteLedger
    ) -> MeasureResponse:
        """Return how the model after a round does on held-out rows, as the policy lets it be told;
        clients are charged first.
        """
        subject, built, policy = message.subject, run.load_side(), self.owner.require_policy()
        softened = (
            run.plan.server.soften > 0
        )  # then another model is measured than the one that is trained on
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
                refused = self._charge(
                    book, subject, {owner: owner for owner in owners}, claims, is_round=True
                )
                places = places[[owner not in refused for owner in owners]]
            except BudgetError as error:
                why = str(error)
        if why or not owners:
            self._reserve(run, book, subject, built.site.names, ())
        if not why:
            right = built.count_right(model, places, subject.round_no + 1) if len(places) else 0
            counts = Counts(rows=len(places), right=right)
            if noise is not None:
                counts, why = self._with_noise(run, message, counts, noise)
            answer = answer if why else replace(answer, counts=counts)
        if why:
            self.owner.tell(f"measure of run {subject.run} after round {subject.round_no:,}: {why}")
        return replace(answer, withheld=_rules(why))

    def _with_noise(
        self, run: Participation, message: SignedMessage, counts: Counts, noise: CountNoise
    ) -> tuple[Counts, str]:
        """Return noisy counts, and why they are not sent, if so; noisy counts decide that, since
        exact ones would tell.
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
        """Refuse an answer that is larger than the owner lets go."""
        most = self.owner.require_policy().limits.max_message_bytes
        if len(body) > most:
            raise PolicyError(
                f"limits.max_message_bytes = {most:,}: the answers have {len(body):,} bytes;"
                " with server.sum_at = 'site' a site adds its clients' answers up first"
            )

    def _reserve(
        self,
        run: Participation,
        book: SiteLedger,
        subject: MessageSubject,
        names: Sequence[int],
        claims: Claims,
    ) -> dict[int, str]:
        """Return which clients cannot pay, and why, after all others have; raise BudgetError if
        nobody can.
        """
        built = run.load_side()
        return self._charge(book, subject, {built.owner_of(name): name for name in names}, claims)

    def _charge(
        self,
        book: SiteLedger,
        subject: MessageSubject,
        owners: Mapping[str, Who],
        claims: Claims,
        *,
        is_round: bool = False,
    ) -> dict[Who, str]:
        """The same, for clients by what the site knows them as; `is_round`: it counts as a round
        even if it is free.
        """
        persons = {self.owner.pseudonym(owner): who for owner, who in owners.items()}
        found = book.reserve(
            subject.run,
            subject.round_no,
            subject.exchange,
            list(persons),
            claims,
            is_round=is_round,
        )
        if found and len(found) == len(persons):
            raise BudgetError(next(iter(found.values())))
        for sentence in sorted(set(found.values())):
            self.owner.tell(
                f"{sum(why == sentence for why in found.values()):,} clients do not answer:"
                f" {sentence}"
            )
        return {persons[person]: why for person, why in found.items()}

    def _ended(self, subject: MessageSubject, body: bytes) -> bytes:
        """Let go of a run, also of one from before a restart, and whatever the policy says by now;
        its charges stay.
        """
        if participation.has_ended(self.owner, subject.run):
            return b""
        plan = participation.load_plan(self.owner, subject.run, subject.plan)
        if plan is not None:
            with closing(self.owner.open_ledger(self.owner.policy() or Policy(), plan)) as book:
                book.drop_responses(subject.run)
            record, told = participation.check_record_head(self.owner, subject.run, body)
            participation.end(self.owner, subject.run, record)
            self.owner.tell(f"run {subject.run} has ended; {told}")
        self._runs.pop(subject.run, None)
        return b""


_NAMES = {"open": "open", "begin": "begin", "rows": DiscloseRows.name, "end": "end"}
"""What requests outside of rounds are called; they have round 0."""


def _check_name(subject: MessageSubject) -> None:
    """Raise WireError unless a request outside of rounds has its one name: under another it could
    be asked again.
    """
    name = _NAMES.get(subject.kind)
    if name is not None and (subject.exchange, subject.round_no) != (name, 0):
        raise WireError(
            f"{subject.kind}: must be called {name!r} in round 0, got {subject.exchange!r} in round"
            f" {subject.round_no:,}"
        )


def _in_log(sentence: str) -> str:
    """Return a sentence with words of the server in it as the log shows it: none of its lines can
    pass for an entry of its own.

    A plan can have a problem in every line, so there is a limit to what one request writes into the
    log.
    """
    lines = printable(sentence).splitlines()
    shown = [
        line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"
        for line in lines[:_MOST_LINES]
    ]
    more = [f"and {len(lines) - _MOST_LINES:,} lines more"] if len(lines) > _MOST_LINES else []
    return "\n    ".join([*shown, *more])


def _status_of(error: TacitError) -> Status:
    kinds: tuple[tuple[type[TacitError], Status], ...] = (
        (PolicyError, "policy"),
        (BudgetError, "budget"),
        (DataError, "data"),
        (WireError, "question"),
        (PlanError, "question"),
        (RunError, "unknown run"),
    )
    return next((status for kind, status in kinds if isinstance(error, kind)), "failed")


def _rule_of(error: TacitError) -> str:
    """Return which lines of the policy refused, without their values."""
    return _rules(str(error)) if isinstance(error, PolicyError | BudgetError) else ""


def _rules(why: str) -> str:
    heads = [line.strip().partition(":")[0].partition(" ")[0] for line in why.splitlines()]
    return ", ".join(dict.fromkeys(head for head in heads if "." in head or head == "policy"))[:200]


def _reply(subject: MessageSubject, status: Status, rule: str, receipt: Receipt) -> MessageSubject:
    return MessageSubject(
        kind=subject.kind,
        run=subject.run,
        plan=subject.plan,
        site=subject.site,
        round_no=subject.round_no,
        exchange=subject.exchange,
        nonce=subject.nonce,
        status=status,
        rule=rule,
        entries=receipt.counter,
        head=receipt.head,
    )
